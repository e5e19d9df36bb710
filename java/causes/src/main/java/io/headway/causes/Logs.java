package io.headway.causes;

import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.Appender;
import ch.qos.logback.core.AppenderBase;
import ch.qos.logback.core.OutputStreamAppender;
import ch.qos.logback.core.rolling.RollingFileAppender;
import ch.qos.logback.core.rolling.TriggeringPolicyBase;
import ch.qos.logback.core.rolling.TimeBasedRollingPolicy;
import java.io.File;
import java.io.IOException;
import java.io.OutputStreamWriter;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.logging.Handler;
import java.util.logging.SimpleFormatter;
import java.util.logging.StreamHandler;
import org.apache.commons.logging.LogFactory;
import org.apache.log4j.PatternLayout;
import org.apache.log4j.WriterAppender;
import org.apache.logging.log4j.Level;
import org.apache.logging.log4j.core.LogEvent;
import org.apache.logging.log4j.core.appender.AbstractAppender;
import org.apache.logging.log4j.core.appender.AsyncAppender;
import org.apache.logging.log4j.core.appender.RollingFileAppender.Builder;
import org.apache.logging.log4j.core.appender.rolling.AbstractTriggeringPolicy;
import org.apache.logging.log4j.core.appender.rolling.RollingFileManager;
import org.apache.logging.log4j.core.async.AsyncLoggerContextSelector;
import org.apache.logging.log4j.core.config.AppenderRef;
import org.apache.logging.log4j.core.config.Configurator;
import org.apache.logging.log4j.core.config.Property;
import org.apache.logging.log4j.core.config.builder.api.ConfigurationBuilderFactory;

/** Loggers whose appenders are slow. */
final class Logs {
    private Logs() {}

    static List<Cause> causes() {
        return List.of(
                Cause.of("log4j1-appenders", Logs::log4j1),
                Cause.of("log4j1-append", Logs::log4j1Shared),
                Cause.of("log4j1-async", Logs::log4j1Async),
                Cause.of("logback-async", Logs::logbackAsync),
                Cause.of("logback-rollover", Logs::logbackRollover),
                Cause.of("logback-write", Logs::logback),
                Cause.of("log4j2-rolling", Logs::log4j2Rolling),
                Cause.of("log4j2-write", Logs::log4j2),
                Cause.of("log4j2-ring-full", Logs::log4j2Ring),
                Cause.of("log4j2-async-appender", Logs::log4j2Async),
                Cause.of("jul-handler", Logs::jul),
                Cause.of("jboss-logmanager", Logs::jboss),
                Cause.of("tinylog-write", Logs::tinylog),
                Cause.of("commons-logging-factory", Logs::factory),
                Cause.of("print-stack-trace", Logs::stackTrace),
                Cause.of("print-stream", Logs::print));
    }

    private static WriterAppender slowLog4j1() {
        return new WriterAppender(new PatternLayout("%m%n"), new Slow.Output());
    }

    private static org.apache.log4j.Logger log4j1(String name, org.apache.log4j.Appender appender) {
        org.apache.log4j.Logger logger = org.apache.log4j.Logger.getLogger(name);
        logger.setAdditivity(false);
        logger.addAppender(appender);
        return logger;
    }

    private static Cause.Task log4j1() {
        org.apache.log4j.Logger logger = log4j1("causes", slowLog4j1());
        return worker -> logger.info("from " + worker);
    }

    /** Each thread has a logger, and all loggers have one appender. */
    private static Cause.Task log4j1Shared() {
        WriterAppender appender = slowLog4j1();
        List<org.apache.log4j.Logger> loggers = new ArrayList<>();
        for (int worker = 0; worker < 6; worker++) {
            loggers.add(log4j1("causes-" + worker, appender));
        }
        return worker -> loggers.get(worker).info("from " + worker);
    }

    private static Cause.Task log4j1Async() {
        org.apache.log4j.AsyncAppender appender = new org.apache.log4j.AsyncAppender();
        appender.setBufferSize(2);
        appender.addAppender(slowLog4j1());
        org.apache.log4j.Logger logger = log4j1("causes", appender);
        return worker -> logger.info("from " + worker);
    }

    private static Cause.Task logback(Appender<ILoggingEvent> appender, LoggerContext context) {
        appender.setContext(context);
        appender.start();
        ch.qos.logback.classic.Logger logger = context.getLogger("causes");
        logger.addAppender(appender);
        return worker -> logger.info("from {}", worker);
    }

    private static LoggerContext logbackContext() {
        LoggerContext context = new LoggerContext();
        context.setMDCAdapter(new ch.qos.logback.classic.util.LogbackMDCAdapter());
        return context;
    }

    private static PatternLayoutEncoder encoder(LoggerContext context) {
        PatternLayoutEncoder encoder = new PatternLayoutEncoder();
        encoder.setContext(context);
        encoder.setPattern("%msg%n");
        encoder.start();
        return encoder;
    }

    private static Cause.Task logbackAsync() {
        LoggerContext context = logbackContext();
        AppenderBase<ILoggingEvent> slow = new AppenderBase<>() {
            @Override
            protected void append(ILoggingEvent event) {
                Slow.pause(2);
            }
        };
        slow.setContext(context);
        slow.start();
        var appender = new ch.qos.logback.classic.AsyncAppender();
        appender.setQueueSize(4);
        appender.setDiscardingThreshold(0);
        appender.addAppender(slow);
        return logback(appender, context);
    }

    private static Cause.Task logbackRollover() throws IOException {
        LoggerContext context = logbackContext();
        Path folder = Scratch.folder();
        RollingFileAppender<ILoggingEvent> appender = new RollingFileAppender<>();
        appender.setEncoder(encoder(context));
        appender.setFile(folder.resolve("now.log").toString());
        appender.setContext(context);
        TimeBasedRollingPolicy<ILoggingEvent> files = new TimeBasedRollingPolicy<>();
        files.setContext(context);
        files.setParent(appender);
        files.setFileNamePattern(folder.resolve("then-%d.log").toString());
        files.start();
        appender.setRollingPolicy(files);
        // Whether a new file is due takes as long as to look at a slow disk.
        TriggeringPolicyBase<ILoggingEvent> due = new TriggeringPolicyBase<>() {
            @Override
            public boolean isTriggeringEvent(File file, ILoggingEvent event) {
                return Slow.after(2, false);
            }
        };
        due.start();
        appender.setTriggeringPolicy(due);
        return logback(appender, context);
    }

    private static Cause.Task logback() {
        LoggerContext context = logbackContext();
        OutputStreamAppender<ILoggingEvent> appender = new OutputStreamAppender<>();
        appender.setContext(context);
        appender.setEncoder(encoder(context));
        appender.setOutputStream(new Slow.Output());
        return logback(appender, context);
    }

    private static org.apache.logging.log4j.core.layout.PatternLayout log4j2Layout() {
        return org.apache.logging.log4j.core.layout.PatternLayout.newBuilder().withPattern("%m%n").build();
    }

    private static org.apache.logging.log4j.core.LoggerContext log4j2Context() {
        var configuration = ConfigurationBuilderFactory.newConfigurationBuilder();
        configuration.add(configuration.newRootLogger(Level.INFO));
        return Configurator.initialize(configuration.build(false));
    }

    private static Cause.Task log4j2(
            org.apache.logging.log4j.core.LoggerContext context, org.apache.logging.log4j.core.Appender appender) {
        appender.start();
        context.getConfiguration().getRootLogger().addAppender(appender, null, null);
        context.updateLoggers();
        var logger = context.getLogger("causes");
        return worker -> logger.info("from {}", worker);
    }

    private static org.apache.logging.log4j.core.Appender slowLog4j2() {
        return new AbstractAppender("slow", null, log4j2Layout(), true, Property.EMPTY_ARRAY) {
            @Override
            public void append(LogEvent event) {
                Slow.pause(2);
            }
        };
    }

    private static Cause.Task log4j2Rolling() throws IOException {
        var context = log4j2Context();
        Path folder = Scratch.folder();
        Builder<?> builder = org.apache.logging.log4j.core.appender.RollingFileAppender.newBuilder();
        var appender = builder.setName("rolling")
                .setConfiguration(context.getConfiguration())
                .setLayout(log4j2Layout())
                .withFileName(folder.resolve("now.log").toString())
                .withFilePattern(folder.resolve("then-%i.log").toString())
                .withPolicy(new AbstractTriggeringPolicy() {
                    @Override
                    public void initialize(RollingFileManager manager) {}

                    @Override
                    public boolean isTriggeringEvent(LogEvent event) {
                        return Slow.after(2, false);
                    }
                })
                .build();
        return log4j2(context, appender);
    }

    private static Cause.Task log4j2() {
        var context = log4j2Context();
        var builder = org.apache.logging.log4j.core.appender.OutputStreamAppender.newBuilder();
        var appender =
                builder.setName("device").setTarget(new Slow.Output()).setLayout(log4j2Layout()).build();
        return log4j2(context, appender);
    }

    private static Cause.Task log4j2Ring() {
        System.setProperty("log4j2.contextSelector", AsyncLoggerContextSelector.class.getName());
        System.setProperty("log4j2.asyncLoggerRingBufferSize", "128");
        System.setProperty("log4j2.asyncLoggerWaitStrategy", "Block");
        return log4j2(log4j2Context(), slowLog4j2());
    }

    private static Cause.Task log4j2Async() {
        var context = log4j2Context();
        var slow = slowLog4j2();
        slow.start();
        context.getConfiguration().addAppender(slow);
        var appender = AsyncAppender.newBuilder()
                .setName("async")
                .setConfiguration(context.getConfiguration())
                .setBufferSize(4)
                .setAppenderRefs(new AppenderRef[] {AppenderRef.createAppenderRef("slow", null, null)})
                .build();
        return log4j2(context, appender);
    }

    private static Cause.Task jul() {
        var logger = java.util.logging.Logger.getLogger("causes");
        logger.setUseParentHandlers(false);
        Handler handler = new StreamHandler(new Slow.Output(), new SimpleFormatter()) {
            // Each record is flushed, as by ConsoleHandler.
            @Override
            public void publish(java.util.logging.LogRecord line) {
                super.publish(line);
                flush();
            }
        };
        logger.addHandler(handler);
        return worker -> logger.info("from " + worker);
    }

    private static Cause.Task jboss() {
        var logger = org.jboss.logmanager.LogContext.create().getLogger("causes");
        logger.setUseParentHandlers(false);
        var handler = new org.jboss.logmanager.handlers.WriterHandler();
        handler.setFormatter(new org.jboss.logmanager.formatters.PatternFormatter("%m%n"));
        handler.setWriter(new OutputStreamWriter(new Slow.Output(), StandardCharsets.UTF_8));
        handler.setAutoFlush(true);
        logger.addHandler(handler);
        return worker -> logger.info("from " + worker);
    }

    private static Cause.Task tinylog() throws IOException {
        Path file = Scratch.folder().resolve("causes.log");
        System.setProperty("tinylog.writer", "file");
        System.setProperty("tinylog.writer.file", file.toString());
        System.setProperty("tinylog.writer.format", "{message}");
        String line = "x".repeat(200_000);
        return worker -> org.tinylog.Logger.info(line);
    }

    /** Each request asks for its logger, as code without a static field does. */
    private static Cause.Task factory() {
        System.setProperty("org.apache.commons.logging.Log", "org.apache.commons.logging.impl.NoOpLog");
        return worker -> LogFactory.getLog(Logs.class).info("from " + worker);
    }

    private static Cause.Task stackTrace() {
        System.setErr(new PrintStream(new Slow.Output(), true, StandardCharsets.UTF_8));
        Exception problem = new IllegalStateException("planted");
        return worker -> problem.printStackTrace();
    }

    private static Cause.Task print() {
        PrintStream shared = new PrintStream(new Slow.Output(), true, StandardCharsets.UTF_8);
        return worker -> shared.println("from " + worker);
    }
}
