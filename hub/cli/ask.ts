/** Asks the person at a terminal, and gives the next line written; an empty one where the input ends instead. */
export function createAsk(
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
): (question: string, signal: AbortSignal) => Promise<string> {
  return async (question, signal) => {
    const { createInterface } = await import('node:readline/promises');
    // The terminal stays as it is, so that Ctrl-C ends the command as ever.
    const lines = createInterface({ input, output, terminal: false });
    const { promise: ended, resolve } = Promise.withResolvers<string>();
    lines.once('close', () => resolve(''));
    try {
      return await Promise.race([lines.question(question, { signal }), ended]);
    } finally {
      lines.close();
    }
  };
}
