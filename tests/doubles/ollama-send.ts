import type { ServerResponse } from 'node:http';
import type { Fault } from './ollama-faults.ts';
import type { Answer } from './ollama-wire.ts';

const page = '<html>\n<head><title>502 Bad Gateway</title></head>\n<body>nginx</body>\n</html>\n';

/** Sends an answer with the given fault. */
export async function send(
  response: ServerResponse,
  answer: Answer,
  fault: Fault | undefined,
): Promise<void> {
  if (fault?.kind === 'hang') return;
  if (fault?.kind === 'slow') await fault.until;
  if (fault?.kind === 'html') {
    response.writeHead(fault.status, { 'content-type': 'text/html' }).end(page);
    return;
  }
  if (fault?.kind === 'redirect') {
    response.writeHead(fault.status, { location: fault.to }).end();
    return;
  }
  if (fault?.kind === 'error') {
    response.writeHead(fault.status, { 'content-type': 'application/json; charset=utf-8' });
    response.end(JSON.stringify({ error: fault.error }));
    return;
  }
  if (fault?.kind === 'reset' && fault.afterLines === 0) {
    response.socket?.resetAndDestroy();
    return;
  }
  response.writeHead(answer.status, { 'content-type': answer.type });
  if (answer.type !== 'application/x-ndjson') {
    const [value] = answer.values;
    answer.completed?.();
    response.end(answer.type === 'text/plain' ? value : JSON.stringify(value));
    return;
  }
  const lines = answer.values.map(value => `${JSON.stringify(value)}\n`);
  if (fault && 'afterLines' in fault) {
    await write(response, lines.slice(0, fault.afterLines).join(''));
    breakOff(response, fault);
  } else if (fault?.kind === 'byte_by_byte') {
    answer.completed?.();
    for (const byte of Buffer.from(lines.join(''))) await write(response, Buffer.of(byte));
    response.end();
  } else {
    for (const [at, line] of lines.entries()) {
      if (fault?.kind === 'paced') await fault.before(at);
      if (at === lines.length - 1) answer.completed?.();
      await write(response, line);
    }
    response.end();
  }
}

function breakOff(response: ServerResponse, fault: Extract<Fault, { afterLines: number }>): void {
  if (fault.kind === 'cut') response.end();
  else if (fault.kind === 'reset') response.socket?.resetAndDestroy();
  else if (fault.kind === 'invalid_line') response.end('{"model": nothing}\n');
  else if (fault.kind === 'error_mid_stream')
    response.end(`${JSON.stringify({ error: fault.error })}\n`);
}

/** Resolves when the bytes are handed to the socket, or at once if the client has disconnected. */
function write(response: ServerResponse, bytes: string | Buffer): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (bytes.length === 0 || response.destroyed) resolve();
  else response.write(bytes, () => resolve());
  return promise;
}
