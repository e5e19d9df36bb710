import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { KINDS, type Kind } from "../data/contract";
import { AWAY, type State } from "../data/states";
import type { Theme } from "../state/theme";
import { COLOURS, differenceColour, FRAME_SHADES, partFill, STATE_COLOURS } from "./colours";

type Colour = [number, number, number];

/** How colours look to people without one kind of cone: Machado, Oliveira and Fernandes, 2009, on linear RGB. */
const VISION: Record<string, number[]> = {
  usual: [1, 0, 0, 0, 1, 0, 0, 0, 1],
  protanopia: [0.152286, 1.052583, -0.204868, 0.114503, 0.786281, 0.099216, -0.003882, -0.048116, 1.051998],
  deuteranopia: [0.367322, 0.860646, -0.227968, 0.280085, 0.672501, 0.047413, -0.01182, 0.04294, 0.968881],
  tritanopia: [1.255528, -0.076749, -0.178779, -0.078411, 0.930809, 0.147602, 0.004733, 0.691367, 0.3039],
};

const linear = (part: number) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);

function fromHsl([hue, saturation, lightness]: Colour): Colour {
  const [s, l] = [saturation / 100, lightness / 100];
  const part = (n: number) => {
    const k = (n + hue / 30) % 12;
    return linear(l - s * Math.min(l, 1 - l) * Math.max(-1, Math.min(k - 3, 9 - k, 1)));
  };
  return [part(0), part(8), part(4)];
}

const fromHex = (text: string) => [1, 3, 5].map((at) => linear(parseInt(text.slice(at, at + 2), 16) / 255)) as Colour;

function seen(colour: Colour, vision: string): Colour {
  const m = VISION[vision]!;
  return [0, 1, 2].map((row) => Math.min(1, Math.max(0, m[3 * row]! * colour[0] + m[3 * row + 1]! * colour[1] + m[3 * row + 2]! * colour[2]))) as Colour;
}

/** CIE Lab, white point D65. */
function lab([r, g, b]: Colour): Colour {
  const f = (t: number) => (t > 0.008856 ? Math.cbrt(t) : 7.787 * t + 16 / 116);
  const [x, y, z] = [f((0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.95047), f(0.2126 * r + 0.7152 * g + 0.0722 * b), f((0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.08883)];
  return [116 * y - 16, 500 * (x - y), 200 * (y - z)];
}

const distance = (a: Colour, b: Colour) => Math.hypot(...lab(a).map((part, at) => part - lab(b)[at]!));
const contrastOf = (a: Colour, b: Colour) => (Math.max(brightness(a), brightness(b)) + 0.05) / (Math.min(brightness(a), brightness(b)) + 0.05);
const brightness = ([r, g, b]: Colour) => 0.2126 * r + 0.7152 * g + 0.0722 * b;
const style = readFileSync(new URL("../style.css", import.meta.url), "utf8");
const named = (name: string) => [...style.matchAll(new RegExp(`--${name}: (#[0-9a-f]{6})`, "g"))].map((match) => fromHex(match[1]!));

/** The extremes of each type's shades; the grey of the JDK is that of the light page, then the dark one. */
function shades(grey: number): Record<string, Colour[]> {
  const corners = Object.entries(FRAME_SHADES).map(([type, [h, s, l]]) => [type, h!.flatMap((a) => s!.flatMap((b) => l!.map((c) => fromHsl([a, b, c]))))]);
  return { ...(Object.fromEntries(corners) as Record<string, Colour[]>), jdk: [named("folded")[grey]!] };
}

const THEMES: Theme[] = ["light", "dark"];

describe("the colours of states", () => {
  // Both are called "on CPU".
  const pairsOf = (theme: Theme) => {
    const all = Object.entries({ ...STATE_COLOURS[theme], cpu: undefined }).filter((entry): entry is [string, string] => entry[1] !== undefined);
    return all.flatMap(([a, one], at) => all.slice(at + 1).map(([b, other]) => [`${a} and ${b}`, fromHex(one), fromHex(other)] as const));
  };
  it.each(Object.keys(VISION).flatMap((vision) => THEMES.map((theme) => [vision, theme] as const)))("differ with %s vision on a %s page", (vision, theme) => {
    const pairs = pairsOf(theme);
    for (const [name, one, other] of pairs) expect([name, distance(seen(one, vision), seen(other, vision))]).toEqual([name, expect.toSatisfy((far: number) => far > 8)]);
  });
  it.each(THEMES)("on a %s page idle time is weaker than what is blocked or waits", (theme) => {
    const paper = named("paper")[THEMES.indexOf(theme)]!;
    const contrast = (state: State) => contrastOf(fromHex(STATE_COLOURS[theme][state]), paper);
    for (const state of AWAY) expect([state, contrast(state) / contrast("idle")]).toEqual([state, expect.toSatisfy((ratio: number) => ratio > 1)]);
    // What WCAG 2.1 asks of graphics (1.4.11). On a white page even a wait has less.
    if (theme === "dark") expect(contrast("idle")).toBeGreaterThanOrEqual(3);
  });
  it("are those of the parts of thread time", () => {
    const has = (...kinds: Kind[]) => KINDS.map((kind) => (kinds.includes(kind) ? 1 : 0));
    const fillOf = (name: string, counts: number[], entries: [string, number, boolean][] = []) => partFill({ name, words: "", ns: 100, entries }, counts);
    const colours = (fill: string) => Object.entries(COLOURS).filter(([, colour]) => fill.includes(colour)).map(([kind]) => kind);
    expect(colours(fillOf("lock", has("monitor")))).toEqual(["monitor"]);
    expect(colours(fillOf("lock", has("juc")))).toEqual(["juc"]);
    expect(colours(fillOf("lock", has("monitor", "juc")))).toEqual(["monitor", "juc"]);
    expect(colours(fillOf("wait-permit", has("wait", "park")))).toEqual(["wait", "park"]);
    expect(colours(fillOf("pause", []))).toEqual(["paused"]);
    expect(fillOf("no-cpu", [], [["run queue", 75, false], ["steal", 25, false]])).toBe(`linear-gradient(90deg, ${COLOURS.queued} 0% 75%, ${COLOURS.steal} 75% 100%)`);
    for (const kinds of [has("wait"), has("wait", "park")]) {
      const waits = ["wait-thread", "wait-permit", "wait-time"].map((part) => fillOf(part, kinds));
      expect(new Set(waits).size).toBe(waits.length);
    }
  });
});

describe("the colours of differences", () => {
  const fromRgb = (text: string) => text.match(/\d+/g)!.map((part) => linear(Number(part) / 255)) as Colour;
  const [less, same, more] = [-1, 0, 1].map((change) => fromRgb(differenceColour(change)));
  const found = named("found")[0]!;
  it.each(Object.keys(VISION))("differ with %s vision, and from what was searched for", (vision) => {
    const far = (a: Colour, b: Colour) => distance(seen(a, vision), seen(b, vision));
    for (const [a, b] of [[less, same], [same, more], [less, more]] as const) expect(far(a!, b!)).toBeGreaterThan(15);
    for (const one of [less, same, more]) expect(far(one!, found)).toBeGreaterThan(20);
  });
  it("can be read on", () => {
    const ink = named("flametext")[0]!;
    for (const one of [less, same, more]) expect((brightness(one!) + 0.05) / (brightness(ink) + 0.05)).toBeGreaterThan(4.5);
  });
});

describe.each([["light", 0], ["dark", 1]] as const)("the colours of frames on a %s page", (_, grey) => {
  const types = Object.entries(shades(grey));
  const pairs = types.flatMap(([a, ones], at) => types.slice(at + 1).map(([b, others]) => [`${a} and ${b}`, ones, others] as const));
  it.each(Object.keys(VISION))("differ with %s vision, and from what was searched for", (vision) => {
    const least = (ones: readonly Colour[], others: readonly Colour[]) => Math.min(...ones.flatMap((one) => others.map((other) => distance(seen(one, vision), seen(other, vision)))));
    // A difference of 2.3 is just noticeable side by side.
    for (const [name, ones, others] of pairs) expect([name, least(ones, others)]).toEqual([name, expect.toSatisfy((far: number) => far > 10)]);
    for (const [name, ones] of types) expect([name, least(ones, named("found"))]).toEqual([name, expect.toSatisfy((far: number) => far > 20)]);
  });
  it("can be read on", () => {
    const [ink] = named("flametext");
    for (const [name, ones] of types) expect([name, Math.min(...ones.map((one) => (brightness(one) + 0.05) / (brightness(ink!) + 0.05)))]).toEqual([name, expect.toSatisfy((ratio: number) => ratio >= 4.5)]);
  });
});
