import { defineConfig } from "vitest/config";

// One file after the other: a browser and a server are enough for one machine.
export default defineConfig({
  test: { include: ["e2e/*.test.ts"], environment: "node", fileParallelism: false, chaiConfig: { truncateThreshold: 0 }, testTimeout: 240_000, hookTimeout: 240_000 },
});
