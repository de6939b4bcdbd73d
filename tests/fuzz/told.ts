/** Counts of a server's invalid messages and what happened to them, from the tool `stats` of `whisper.mjs`. */
export type Told = Readonly<
  Record<'lies' | 'asked' | 'answered' | 'twice' | 'stray' | 'guesses', number>
>;

/** Reads the counts from the answer to a call of `stats`. */
export function toldIn(answer: string): Told {
  return JSON.parse(JSON.parse(answer).result.content[0].text);
}
