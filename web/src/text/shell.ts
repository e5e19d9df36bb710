// Commands that can be pasted into a shell.

/** A word as a shell takes it. */
export function shellWord(word: string): string {
  return /^[\w\-./:,@%+=]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
