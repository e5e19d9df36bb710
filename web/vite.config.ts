/// <reference types="vitest/config" />
import { createHash } from "node:crypto";
import preact from "@preact/preset-vite";
import { defineConfig, type Plugin } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

/**
 * Writes the content security policy into the built page: nothing may be loaded,
 * and of scripts and styles only what was built runs, known by its hash. The
 * command that serves the page replaces `connect-src`.
 */
function contentSecurityPolicy(): Plugin {
  return {
    name: "content-security-policy",
    enforce: "post",
    // After everything is inlined.
    generateBundle: { order: "post", handler(_options, bundle) {
      const page = bundle["index.html"];
      if (page?.type !== "asset" || typeof page.source !== "string") throw new Error("the page is not one file");
      const source = page.source;
      const hashes = (element: string) =>
        [...source.matchAll(new RegExp(`<${element}[^>]*>([\\s\\S]*?)</${element}>`, "g"))]
          .map((match) => `'sha256-${createHash("sha256").update(match[1] ?? "").digest("base64")}'`)
          .join(" ");
      const policy = [
        "default-src 'none'",
        `script-src ${hashes("script")}`,
        `style-src ${hashes("style")}`,
        "img-src data:",
        "connect-src 'none'",
        "base-uri 'none'",
        "form-action 'none'",
      ].join("; ");
      page.source = source.replace("<!--headway:policy-->", () => `<meta http-equiv="Content-Security-Policy" content="${policy}">`);
    } },
  };
}

export default defineConfig({
  plugins: [preact(), viteSingleFile({ removeViteModuleLoader: true }), contentSecurityPolicy()],
  build: { target: "es2022", cssCodeSplit: false, reportCompressedSize: false, chunkSizeWarningLimit: 2000 },
  test: { include: ["src/**/*.test.ts"], environment: "node" },
});
