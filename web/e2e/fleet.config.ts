import { defineConfig } from "vitest/config";
import { SETTINGS } from "./settings";

// The page of a store: apart, since it needs programs that are built later than those of the other tests.
export default defineConfig({ test: { include: ["e2e/fleet/*.test.ts"], ...SETTINGS } });
