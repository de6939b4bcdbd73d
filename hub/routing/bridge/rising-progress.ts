import { membersOf, readMessage, splice, valueOf } from '#jsonrpc';
import type { ResponseStream } from '#upstream';

/**
 * Creates a response stream for a call that is sent to its server several times. The server starts its progress again
 * each time, so the stream adds the progress of the earlier attempts: progress must increase with each notification
 * (MCP, progress).
 */
export function createRisingProgress(to: ResponseStream) {
  /** Progress at the end of the earlier attempts. */
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
          // A number that JavaScript cannot represent is forwarded unchanged.
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
    /** Call this when the call is sent to the server again. */
    again(): void {
      isFirst = false;
      before = Math.max(before, highest);
    },
  };
}
