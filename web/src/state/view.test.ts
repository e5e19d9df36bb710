import { beforeAll, describe, expect, it, vi } from "vitest";

// The view follows the address of a page.
vi.stubGlobal("location", { hash: "#/locks?mode=longest.-max&search=3&lock=Stock&sorted=name" });
vi.stubGlobal("addEventListener", () => undefined);
vi.stubGlobal("history", { pushState: () => undefined, replaceState: () => undefined });

let state: typeof import("./view");
beforeAll(async () => {
  state = await import("./view");
});

describe("a link", () => {
  it("leads to another page without what was chosen on this one", () => {
    expect(state.address({ page: "threads" })).toBe("#/threads?lock=Stock");
    expect(state.address({ page: "profile", mode: "blocked" })).toBe("#/profile?lock=Stock&mode=blocked");
    expect(state.address({ lock: "" })).toBe("#/locks?mode=longest.-max&search=3");
  });
});

describe("what of an address cannot be followed", () => {
  it("is said until something else is shown", () => {
    expect(state.problems.value).toEqual(["there is no parameter “sorted”"]);
    state.show({}, false);
    expect(state.problems.value).toEqual([]);
  });
});
