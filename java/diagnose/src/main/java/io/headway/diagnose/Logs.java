package io.headway.diagnose;

import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.encoder.PatternLayoutEncoder;
import ch.qos.logback.core.OutputStreamAppender;
import java.io.IOException;
import java.io.OutputStream;
import java.util.List;
import java.util.logging.Handler;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.logging.SimpleFormatter;
import java.util.logging.StreamHandler;
import org.apache.log4j.Layout;
import org.apache.log4j.PatternLayout;
import org.apache.log4j.WriterAppender;
import org.apache.logging.log4j.core.appender.OutputStreamAppender.Builder;
import org.apache.logging.log4j.core.config.Configurator;
import org.apache.logging.log4j.core.config.builder.api.ConfigurationBuilderFactory;

/** Bottlenecks at appenders: every log line goes to a slow device under the appender's lock. */
final class Logs {
    private Logs() {}

    static List<Program> programs() {
        return List.of(
                Program.of("jul-handler", "jdk", Jul::new, "StreamHandler|Device", "write|publish"),
                Program.of("logback-appender", "logback", Logback::new, "OutputStreamAppender|Device", "write"),
                Program.of("reload4j-appender", "reload4j", Reload4j::new, "Appender|Category|Logger", "write|append"),
                Program.of("log4j2-appender", "log4j-core", Log4j2::new, "OutputStreamManager|Device", "write|flush"));
    }

    /** A device that takes a millisecond for a line. */
    static final class Device extends OutputStream {
        private final boolean isFast;

        Device(boolean isFast) {
            this.isFast = isFast;
        }

        @Override
        public void write(int one) throws IOException {
            write(new byte[] {(byte) one}, 0, 1);
        }

        @Override
        public void write(byte[] bytes, int from, int length) throws IOException {
            if (isFast || length == 0) {
                return;
            }
            try {
                Work.remoteCall(2);
            } catch (InterruptedException over) {
                throw new IOException(over);
            }
        }
    }

    private static final class Jul implements Service {
        private final Logger logger = Logger.getLogger("diagnose");

        Jul(boolean isFixed) {
            logger.setUseParentHandlers(false);
            Handler handler = new StreamHandler(new Device(isFixed), new SimpleFormatter()) {
                @Override
                public synchronized void publish(java.util.logging.LogRecord line) {
                    super.publish(line);
                    flush();
                }
            };
            handler.setLevel(Level.ALL);
            logger.addHandler(handler);
        }

        @Override
        public void serve(int worker) {
            Work.compute(50);
            logger.info("served by " + worker);
        }
    }

    private static final class Logback implements Service {
        private final ch.qos.logback.classic.Logger logger;

        Logback(boolean isFixed) {
            LoggerContext context = new LoggerContext();
            context.setMDCAdapter(new ch.qos.logback.classic.util.LogbackMDCAdapter());
            PatternLayoutEncoder encoder = new PatternLayoutEncoder();
            encoder.setContext(context);
            encoder.setPattern("%msg%n");
            encoder.start();
            OutputStreamAppender<ch.qos.logback.classic.spi.ILoggingEvent> appender = new OutputStreamAppender<>();
            appender.setContext(context);
            appender.setEncoder(encoder);
            appender.setOutputStream(new Device(isFixed));
            appender.start();
            logger = context.getLogger("diagnose");
            logger.addAppender(appender);
        }

        @Override
        public void serve(int worker) {
            Work.compute(50);
            logger.info("served by {}", worker);
        }
    }

    private static final class Reload4j implements Service {
        private final org.apache.log4j.Logger logger = org.apache.log4j.Logger.getLogger("diagnose");

        Reload4j(boolean isFixed) {
            Layout layout = new PatternLayout("%m%n");
            WriterAppender appender = new WriterAppender(layout, new Device(isFixed));
            logger.setAdditivity(false);
            logger.addAppender(appender);
        }

        @Override
        public void serve(int worker) {
            Work.compute(50);
            logger.info("served by " + worker);
        }
    }

    private static final class Log4j2 implements Service {
        private final org.apache.logging.log4j.Logger logger;

        Log4j2(boolean isFixed) {
            var configuration = ConfigurationBuilderFactory.newConfigurationBuilder();
            configuration.add(configuration.newRootLogger(org.apache.logging.log4j.Level.INFO));
            var context = Configurator.initialize(configuration.build(false));
            Builder<?> builder = org.apache.logging.log4j.core.appender.OutputStreamAppender.newBuilder();
            var appender = builder.setName("device")
                    .setTarget(new Device(isFixed))
                    .setLayout(org.apache.logging.log4j.core.layout.PatternLayout.newBuilder()
                            .withPattern("%m%n")
                            .build())
                    .build();
            appender.start();
            var root = context.getConfiguration().getRootLogger();
            root.addAppender(appender, null, null);
            context.updateLoggers();
            logger = context.getLogger("diagnose");
        }

        @Override
        public void serve(int worker) {
            Work.compute(50);
            logger.info("served by {}", worker);
        }
    }
}
