import { spawn } from 'node:child_process';
import { attachAndStart } from '../containers.ts';
import { type Call, type Way, requestText } from './job.ts';

/** Calls the server over the pipes of a child process, without anything between. */
export function wayOverPipe(serverFile: string): Way {
  const child = spawn(process.execPath, [serverFile], { stdio: ['pipe', 'pipe', 'inherit'] });
  process.on('exit', () => child.kill());
  const { call, push } = createLines(text => void child.stdin.write(text));
  child.stdout.on('data', push);
  return { begin: async () => ({ call, end() {} }) };
}

/** Calls the server in a created container: attaches to it, then starts it. */
export async function wayOverAttach(id: string): Promise<Way> {
  const socket = await attachAndStart(id);
  const { call, push } = createLines(text => void socket.write(text));
  socket.on('data', demultiplexer(push));
  return { begin: async () => ({ call, end() {} }) };
}

/** Joins the lines of an event loop turn, as the hub does. The server is FIFO: a line answers the oldest call. */
function createLines(write: (text: string) => void) {
  const waiting: ((reply: Buffer) => void)[] = [];
  let out: string[] = [];
  let rest: Buffer[] = [];
  const call: Call = (id, bytes, done) => {
    if (out.length === 0)
      setImmediate(() => {
        write(out.join(''));
        out = [];
      });
    waiting.push(done);
    out.push(`${requestText(id, 'fill', bytes)}\n`);
  };
  function push(chunk: Buffer): void {
    let from = 0;
    for (let end = chunk.indexOf(0x0a); end >= 0; end = chunk.indexOf(0x0a, from)) {
      const last = chunk.subarray(from, end);
      const line = rest.length === 0 ? last : Buffer.concat([...rest, last]);
      rest = [];
      from = end + 1;
      waiting.shift()?.(line);
    }
    if (from < chunk.length) rest.push(chunk.subarray(from));
  }
  return { call, push };
}

/** Parses Docker's stream frames (8 bytes of header each) and passes on stdout. */
function demultiplexer(stdout: (chunk: Buffer) => void): (chunk: Buffer) => void {
  let held: Buffer = Buffer.alloc(0);
  let remaining = 0;
  let stream = 0;
  return chunk => {
    let bytes = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    while (bytes.length > 0) {
      if (remaining === 0) {
        if (bytes.length < 8) break;
        stream = bytes[0] ?? 0;
        remaining = bytes.readUInt32BE(4);
        bytes = bytes.subarray(8);
        continue;
      }
      const payload = bytes.subarray(0, remaining);
      remaining -= payload.length;
      bytes = bytes.subarray(payload.length);
      if (stream === 1) stdout(payload);
    }
    held = bytes;
  };
}
