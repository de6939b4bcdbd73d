import { membersOf, readMessage, splice, valueOf } from '#jsonrpc';
import type { ResponseStream } from '#upstream';

/**
 * A response stream for a call that its server gets several times. Each time, the server reports its progress from the
 * beginning; the client gets it added to the progress so far, because it must increase with each notification (MCP, progress).
 */
export function createRisingProgress(to: ResponseStream) {
  /** The progress before the present time. */
  let before = 0;
  let highest = -Infinity;
  let isFirst = true;
  return {
    stream: {
      traceparent: to.traceparent,
      send(bytes: Buffer): void {
        const message = readMessage(bytes);
        const isProgress =
          message.kind === 'notification' && message.method === 'notifications/progress';
        const params = isProgress ? membersOf(bytes, message.params) : undefined;
        const edits = ['progress', 'total'].flatMap(name => {
          const span = params?.get(name);
          const value = valueOf(bytes, span);
          // A number beyond those of JavaScript is passed on.
          return span && typeof value === 'number' && Number.isFinite(value)
            ? [{ name, span, value: before + value }]
            : [];
        });
        const progress = edits.find(({ name }) => name === 'progress')?.value;
        if (progress === undefined) return to.send(bytes);
        if (!isFirst && progress <= highest) return;
        highest = Math.max(highest, progress);
        const texts = edits.map(({ span, value }) => ({ span, text: JSON.stringify(value) }));
        to.send(before === 0 ? bytes : splice(bytes, texts));
      },
    } satisfies ResponseStream,
    /** The server gets the call again. */
    again(): void {
      isFirst = false;
      before = Math.max(before, highest);
    },
  };
}
