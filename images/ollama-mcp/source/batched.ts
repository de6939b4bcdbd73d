const intervalMs = 100;

/** Joins pieces of text, and calls `send` at most ten times a second. Disposing sends the rest. */
export function createBatches(send: (text: string) => void): Disposable & {
  add(piece: string): void;
} {
  let waiting = '';
  let timer: NodeJS.Timeout | undefined;
  function flush(): void {
    clearTimeout(timer);
    timer = undefined;
    const text = waiting;
    waiting = '';
    if (text !== '') send(text);
  }
  return {
    add(piece) {
      waiting += piece;
      timer ??= setTimeout(flush, intervalMs);
    },
    [Symbol.dispose]: flush,
  };
}
