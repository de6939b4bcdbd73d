/**
 * Creates a function that asks a question on the terminal and resolves with the next line. Resolves with an empty
 * string if the input ends.
 */
export function createAsk(
  input: NodeJS.ReadableStream,
  output: NodeJS.WritableStream,
): (question: string, signal: AbortSignal) => Promise<string> {
  return async (question, signal) => {
    const { createInterface } = await import('node:readline/promises');
    // `terminal: false` keeps the terminal in its normal mode, so that Ctrl-C ends the command.
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
