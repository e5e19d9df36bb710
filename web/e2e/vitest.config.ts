import { defineConfig } from "vitest/config";
import { SETTINGS } from "./settings";

export default defineConfig({ test: { include: ["e2e/*.test.ts"], ...SETTINGS } });
