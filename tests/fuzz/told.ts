/** What a server has told that is untrue, and what became of it, by the tool `stats` of `whisper.mjs`. */
export type Told = Readonly<
  Record<'lies' | 'asked' | 'answered' | 'twice' | 'stray' | 'guesses', number>
>;

/** Reads it from the answer to a call of that tool. */
export function toldIn(answer: string): Told {
  return JSON.parse(JSON.parse(answer).result.content[0].text);
}
