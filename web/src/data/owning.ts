// What a lock's blocked time was: owners, hand-offs, VM pauses, and time whose owner is unknown.
// All are parts of one sum, the blocked time: together they are never more than that.
import { HOWS, type Entry, type Facts, type Groups, type How } from "./contract";
import type { Range } from "./intervals";
import { isNative } from "../text/frames";
import type { NameBook } from "./names";

/** That the lock was free. */
export const HAND_OFF = HOWS.indexOf("hand-off");

/** That the owner's thread is known. */
const OWNED: readonly How[] = ["exit", "seen", "previous"];

/** Blocked time of a lock, in parts. `paused` are pauses of the VM, and no other part contains any. */
export interface Parts {
  total: number;
  paused: number;
  handOff: number;
  /** The thread that owned it is known, its method is not. */
  noMethod: number;
  unknown: number;
  /** Methods that owned it, most time first. */
  owners: Owner[];
  /** Owned by methods that are not among these: groups are cut to some. */
  cut: number;
}

/** A method that owned a lock. */
export interface Owner {
  /** Text of the method. */
  method: number;
  time: number;
  /** Pauses of the VM in the same group, which are not in `time`. */
  paused: number;
}

/** Of groups by lock name, owner method and how the owner is known: the parts of one lock name. */
export function partsOf(groups: Groups, lock: number): Parts {
  const top = groups.value.findIndex((one, at) => one === lock && groups.parent[at]! < 0);
  const parts: Parts = { total: groups.total[top] ?? 0, paused: groups.stopped[top] ?? 0, handOff: 0, noMethod: 0, unknown: groups.rest[top] ?? 0, owners: [], cut: 0 };
  if (top < 0) return parts;
  groups.value.forEach((value, at) => {
    const parent = groups.parent[at]!;
    const paused = groups.stopped[at] ?? 0;
    const time = groups.total[at]! - paused;
    if (parent === top && value > 0) parts.owners.push({ method: value, time, paused });
    // Only what is below the method that is not known.
    if (parent < 0 || groups.parent[parent] !== top || groups.value[parent] !== 0) return;
    if (value === HAND_OFF) parts.handOff += time;
    else if (isOwned(value)) parts.noMethod += time;
    else parts.unknown += time;
  });
  parts.owners.sort((a, b) => b.time - a.time);
  // What has no owner at the edges of the range may have pauses, too.
  const left = Math.max(0, parts.total - parts.paused - parts.handOff - parts.noMethod - ownedBy(parts.owners));
  parts.unknown = Math.min(parts.unknown, left);
  parts.cut = left - parts.unknown;
  return parts;
}

function ownedBy(owners: Owner[]): number {
  return owners.reduce((sum, { time }) => sum + time, 0);
}

/** A part of a lock's blocked time that is worth a line. */
export interface Share {
  what: "owner" | "owners" | "hand-off" | "pauses" | "no-method" | "unknown";
  time: number;
  /** The method, of `owner`. */
  owner?: Owner;
}

/** Parts that are shorter have no line. */
const WORTH_A_LINE = 0.01;

/**
 * The largest part of a lock's blocked time, then the others; owners together where only they come first. A method that
 * owned the lock for less time than its owners had no CPU is not named beside that, unless its part is the largest.
 */
export function sharesOf(parts: Parts, noCpu: number): Share[] {
  const { total, owners, cut } = parts;
  const [owner] = owners;
  const rest: Share[] = [
    { what: "hand-off", time: parts.handOff },
    { what: "unknown", time: parts.unknown },
    { what: "pauses", time: parts.paused },
    { what: "no-method", time: parts.noMethod },
  ];
  const largest = rest.reduce((most, { time }) => Math.max(most, time), 0);
  const isNamed = owner !== undefined && owner.time > 0 && (owner.time >= largest || owner.time >= noCpu);
  const all: Share = { what: "owners", time: ownedBy(owners) + cut };
  const named: Share[] = isNamed ? [{ what: "owner", time: owner.time, owner }] : [];
  const others: Share = { what: "owners", time: all.time - (isNamed ? owner.time : 0) };
  const parted = [...named, ...rest].sort((a, b) => b.time - a.time);
  const isTogether = parted[0]?.what !== "owner" && all.time > largest;
  const found = isTogether ? [all, ...rest.sort((a, b) => b.time - a.time)] : [...parted, others];
  return found.filter(({ time }, place) => time > 0 && (place === 0 || time >= total * WORTH_A_LINE));
}

/** What is known of owners in some blocked time. No part but `paused` contains pauses of the VM. */
export interface Knowledge {
  total: number;
  paused: number;
  handOff: number;
  /** A thread owned the lock, and is known. */
  owned: number;
  unknown: number;
}

/** Of groups by how the owner is known. */
export function knowledgeOf(hows: Groups): Knowledge {
  const found: Knowledge = { total: hows.totalNs, paused: 0, handOff: 0, owned: 0, unknown: 0 };
  hows.value.forEach((how, at) => {
    if (hows.parent[at]! >= 0) return;
    const paused = hows.stopped[at] ?? 0;
    found.paused += paused;
    if (how === HAND_OFF) found.handOff += hows.total[at]! - paused;
    else if (isOwned(how)) found.owned += hows.total[at]! - paused;
  });
  found.unknown = Math.max(0, found.total - found.paused - found.handOff - found.owned);
  return found;
}

/** Of contentions, the part in a range. */
export function knowledgeIn(contentions: Entry[], range: Range): Knowledge {
  const found: Knowledge = { total: 0, paused: 0, handOff: 0, owned: 0, unknown: 0 };
  for (const { start, span, owner, how, stopped } of contentions.flatMap((one) => one.slices)) {
    const inside = Math.min(start + span, range.to) - Math.max(start, range.from);
    if (inside <= 0) continue;
    const paused = (stopped * inside) / span;
    found.total += inside;
    found.paused += paused;
    if (owner > 0) found.owned += inside - paused;
    else if (how === "hand-off") found.handOff += inside - paused;
    else found.unknown += inside - paused;
  }
  return found;
}

function isOwned(how: number): boolean {
  return OWNED.includes(HOWS[how]!);
}

/** How much of the blocked time with a known owner samples of the owner stand for. */
export interface Coverage {
  /** What shares are parts of. */
  whole: number;
  sampled: number;
  notSampled: number;
}

/** `blocked` is grouped by how the owner is known; pauses of the VM in it are left out. Samples may stand for a little more than there is, by chance. */
export function coverageOf(blocked: Groups, sampled: number): Coverage {
  const owned = blocked.value.reduce((sum, how, at) => sum + (blocked.parent[at]! < 0 && isOwned(how) ? blocked.total[at]! - (blocked.stopped[at] ?? 0) : 0), 0);
  const whole = Math.max(owned, sampled, 1);
  return { whole, sampled, notSampled: whole - sampled };
}

/** What an owner did at a moment, as frames. */
export interface Act {
  /** The innermost frame. */
  leaf: number | undefined;
  /** The innermost one of the application: not of the JDK, a native library or the kernel. */
  own: number | undefined;
  /** What that called, if it called something. */
  called: number | undefined;
}

/** Of a call stack, leaf first. */
export function actOf(frames: number[], names: NameBook): Act {
  const place = frames.findIndex((frame) => !names.frame(frame).jdk && !isNative(names.text(names.frame(frame).method)));
  return { leaf: frames[0], own: frames[place], called: place > 0 ? frames[place - 1] : undefined };
}

/**
 * True if samples of owners say of how much of the blocked time they are. Without -e cpu only they may; those that do not
 * are 1 ns long. Where contentions were sampled, owners' samples are of those that were recorded, blocked time is of all.
 */
export function isWeighted(inside: Groups, facts: (Pick<Facts, "samplesWeighted"> & Partial<Pick<Facts, "instants">>) | undefined): boolean {
  if ((facts?.instants ?? 0) > 0) return false;
  return (facts?.samplesWeighted ?? false) || inside.totalNs > inside.count;
}

/** Samples of owners, and of how much of the time with a known owner they are. */
export interface Seen {
  /** Each counted once, however many threads were blocked; at least so many. */
  taken: number;
  /** Part of the time for which they stand; 1 where they do not say, null where that is not known. */
  coverage: number | null;
  /** Part of that which is from parks of virtual threads: these are exact, and no samples. */
  parked: number;
}

const VIRTUAL = 1;

/** `samples` are those kept one by one, of `count` that count once for each blocked thread; so many threads were blocked at most. */
export function seenOf(samples: Entry[], count: number, coverage: number | null, names: NameBook, threads = 1): Seen {
  const taken = new Set(samples.map(({ start, span, slices }) => `${slices[0]?.owner} ${start + span}`)).size;
  const time = samples.reduce((sum, { span }) => sum + span, 0);
  const isPark = ({ slices }: Entry) => slices[0]?.how === "waiting" && names.thread(slices[0].owner).kind === VIRTUAL;
  const parked = samples.filter(isPark).reduce((sum, { span }) => sum + span, 0);
  // Of what is only kept as sums it is not known which are the same: each counts once for every thread at most.
  return { taken: taken + Math.ceil(Math.max(0, count - samples.length) / Math.max(1, threads)), coverage, parked: parked / Math.max(1, time) };
}

// The rule of `headway report`: crates/analysis/src/findings/seen.rs.
const FEW = 5;
const FEW_OF_PART = 20;
const HALF = 0.5;
export const LEAST_COVERAGE = 0.05;

/** True if samples are enough to say what owners did. */
export function suffice({ taken, coverage, parked }: Seen): boolean {
  if (coverage === null) return taken >= FEW_OF_PART || parked >= HALF;
  return coverage >= LEAST_COVERAGE && (taken >= (coverage < HALF ? FEW_OF_PART : FEW) || parked >= HALF);
}
