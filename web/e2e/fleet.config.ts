import { defineConfig } from "vitest/config";

// The page of a store: apart, since it needs programs that are built later than those of the other tests.
export default defineConfig({
  test: { include: ["e2e/fleet/*.test.ts"], environment: "node", fileParallelism: false, chaiConfig: { truncateThreshold: 0 }, testTimeout: 240_000, hookTimeout: 240_000 },
});
