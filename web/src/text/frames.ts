// Frames and methods as they are shown.

/** Frames that are shown on their own, or a run of folded ones. */
export interface Part {
  frames: number[];
  folded: boolean;
}

/** Folds runs of two and more frames of the JDK. */
export function parts(frames: number[], isJdk: (frame: number) => boolean): Part[] {
  const found: Part[] = [];
  for (const frame of frames) {
    const jdk = isJdk(frame);
    const last = found.at(-1);
    if (jdk && last?.folded) last.frames.push(frame);
    else found.push({ frames: [frame], folded: jdk });
  }
  return found.map((part) => (part.frames.length < 2 ? { ...part, folded: false } : part));
}

/** Functions of native libraries and of the kernel: `[libc.so.6]`, `poll [libc.so.6]`, `os::naked_sleep`. */
const NATIVE = /\[.*\]|::/;

export function isNative(method: string): boolean {
  return NATIVE.test(method);
}

/** Functions of the kernel: `do_futex [kernel]`. */
export function isKernel(method: string): boolean {
  return method.endsWith("[kernel]");
}

/** A name cut to so many letters. The library of a native function is kept: `memc… [libc.so.6]`. */
export function fitted(name: string, letters: number): string {
  if (letters < 3) return "";
  if (name.length <= letters) return name;
  const library = /\[[^\]]+\]$/.exec(name)?.[0] ?? "";
  const room = letters - library.length - 2;
  if (library !== "" && name !== library) return room >= 2 ? `${name.slice(0, room)}… ${library}` : library.length <= letters ? library : `${name.slice(0, letters - 1)}…`;
  return `${name.slice(0, letters - 1)}…`;
}

/** `com.acme.` and `Inventory.rebuild`. A native function has no package. */
export function split(method: string): [string, string] {
  if (isNative(method)) return ["", method];
  const bracket = method.indexOf("(");
  const plain = bracket < 0 ? method.length : bracket - 1;
  const last = bracket < 0 ? method.lastIndexOf(".", plain) : plain;
  const dot = method.lastIndexOf(".", last - 1);
  return dot < 0 ? ["", method] : [method.slice(0, dot + 1), method.slice(dot + 1)];
}

/** `Stock.lock (java.lang.Object@1a2b)` is `Stock.lock (Object@1a2b)`: what distinguishes locks is at the end, where a narrow column cuts. */
export function withoutPackage(lock: string): string {
  const object = lock.lastIndexOf(" (") < 0 ? 0 : lock.lastIndexOf(" (") + 2;
  return lock.slice(0, object) + lock.slice(object).replace(/^(?:[^\s.()]+\.)+(?=[^\s.()]+[@#])/, "");
}

/** The words of a name of code: after each dot, and where capitals follow small letters. */
export function wordsOf(name: string): string[] {
  return name.split(/(?<=[.$])(?=.)|(?<=[a-z0-9])(?=[A-Z])/);
}
