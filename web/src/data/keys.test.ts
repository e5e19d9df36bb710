import { describe, expect, it } from "vitest";
import { chainKey, hash } from "./keys";

describe("keys of call stacks", () => {
  it("are those that the command computes", () => {
    // The same numbers stand in crates/page/src/keys.rs.
    const frames = ["com.acme.Ä.run:7", "java.lang.Thread.run:0"].map(hash);
    expect(frames[0]!.map((part) => part.toString(16).padStart(8, "0")).join(" ")).toBe("1b9a0a47 86196bc0");
    expect(chainKey(frames)).toBe("36c8f13a9b53229b");
    expect(chainKey([])).toBe("811c9dc59747b28c");
  });
});
