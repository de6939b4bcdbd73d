import { createServer } from 'node:net';

/** Returns a URL on this machine where nothing listens. */
export async function closedPort(): Promise<string> {
  const server = createServer();
  await new Promise<void>(resolve => void server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  await new Promise(resolve => void server.close(resolve));
  return `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`;
}
