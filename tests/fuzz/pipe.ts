import assert from 'node:assert/strict';
import { type Socket, connect } from 'node:net';

/** Status and headers of an answer. Header names are in lower case. */
type Head = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
};

/** An HTTP connection with pipelining: POSTs are sent without waiting for answers, which come in order. */
export type Pipe = {
  /**
   * Waits for room and posts. `took` gets each message of the answer as it arrives. Resolves with status and headers
   * when the answer has ended.
   */
  readonly post: (
    path: string,
    body: Buffer,
    headers: Readonly<Record<string, string>>,
    took: (message: Buffer) => void,
  ) => Promise<Head>;
  /** Resolves when there is room for another POST, as the hub limits the number of pipelined requests. */
  readonly ready: () => Promise<void>;
  /** Closes the connection at once, whatever is unanswered. */
  readonly close: () => void;
};

/** Maximum number of pipelined requests, below the limit of the hub (http/listener.ts). */
const maxWaiting = 48;

/** Time in ms for which nothing may arrive while an answer is due. */
const patienceMs = 60_000;

type Waiting = {
  readonly took: (message: Buffer) => void;
  readonly resolve: (head: Head) => void;
  readonly reject: (error: Error) => void;
};

/** Opens a pipe to `http://host:port`. */
export function openPipe(origin: string): Pipe {
  const { hostname, port, host } = new URL(origin);
  const socket = connect({ host: hostname, port: Number(port), noDelay: true });
  const waiting: Waiting[] = [];
  const wanting: (() => void)[] = [];
  let isClosed = false;

  function lost(error: Error): void {
    isClosed = true;
    for (const { reject } of waiting.splice(0)) reject(error);
    for (const go of wanting.splice(0)) go();
  }

  readAnswers(socket, {
    message: bytes => waiting[0]?.took(bytes),
    end(head) {
      waiting.shift()?.resolve(head);
      wanting.shift()?.();
    },
    failed: lost,
  });
  socket.on('error', lost);
  socket.setTimeout(patienceMs, () => {
    if (waiting.length > 0) lost(new Error(`no answer within ${patienceMs} ms`));
  });
  socket.on('close', () => lost(new Error('the hub ended a connection')));

  async function ready(): Promise<void> {
    while (waiting.length >= maxWaiting && !isClosed)
      await new Promise<void>(resolve => wanting.push(resolve));
  }

  return {
    ready,
    async post(path, body, headers, took) {
      await ready();
      if (isClosed) throw new Error('the connection is over');
      const { promise, resolve, reject } = Promise.withResolvers<Head>();
      waiting.push({ took, resolve, reject });
      let head = `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\nAccept: application/json, text/event-stream\r\n`;
      for (const [name, value] of Object.entries(headers)) head += `${name}: ${value}\r\n`;
      // POSTs of one event loop turn go out in one write.
      if (socket.writableCorked === 0) {
        socket.cork();
        setImmediate(() => socket.uncork());
      }
      socket.write(`${head}\r\n`, 'latin1');
      socket.write(body);
      return await promise;
    },
    close() {
      isClosed = true;
      socket.destroy();
    },
  };
}

type Reader = {
  readonly message: (bytes: Buffer) => void;
  readonly end: (head: Head) => void;
  readonly failed: (error: Error) => void;
};

/** State of the answer body that is being read. */
type Body = {
  readonly head: Head;
  readonly isStream: boolean;
  readonly isChunked: boolean;
  /** Bytes still to come, of the whole body or of a chunk; undefined before the size of a chunk. */
  missing: number | undefined;
  /** Text that was received and is not a complete message yet. */
  text: string;
};

/** Parses answers one after the other, in latin1, so that a character is a byte. */
function readAnswers(socket: Socket, reader: Reader): void {
  let rest = '';
  let body: Body | undefined;

  function over(of: Body): void {
    if (!of.isStream && of.text !== '') reader.message(Buffer.from(of.text, 'latin1'));
    body = undefined;
    reader.end(of.head);
  }

  function take(of: Body, text: string): void {
    of.text += text;
    if (!of.isStream) return;
    const events = of.text.split('\n\n');
    of.text = events.pop() ?? '';
    for (const event of events) {
      const data = /^data: (.+)$/m.exec(event)?.[1];
      if (data !== undefined) reader.message(Buffer.from(data, 'latin1'));
    }
  }

  /** Parses the next part of `rest`. Returns false if it is incomplete. */
  function step(): boolean {
    if (body === undefined) {
      const end = rest.indexOf('\r\n\r\n');
      if (end < 0) return false;
      body = bodyOf(rest.slice(0, end));
      rest = rest.slice(end + 4);
      if (!body.isChunked && body.missing === 0) over(body);
      return true;
    }
    if (body.missing === undefined) {
      const end = rest.indexOf('\r\n');
      if (end < 0) return false;
      body.missing = parseInt(rest.slice(0, end), 16);
      rest = rest.slice(end + 2);
      return true;
    }
    const { isChunked, missing } = body;
    if (!isChunked) {
      const part = rest.slice(0, missing);
      if (part === '') return false;
      rest = rest.slice(part.length);
      body.missing = missing - part.length;
      take(body, part);
      if (body.missing === 0) over(body);
      return true;
    }
    if (rest.length < missing + 2) return false;
    take(body, rest.slice(0, missing));
    rest = rest.slice(missing + 2);
    body.missing = undefined;
    if (missing === 0) over(body);
    return true;
  }

  socket.setEncoding('latin1').on('data', (chunk: string) => {
    rest += chunk;
    try {
      while (step());
    } catch (error) {
      reader.failed(error instanceof Error ? error : new Error(String(error)));
    }
  });
}

function bodyOf(text: string): Body {
  const [line = '', ...lines] = text.split('\r\n');
  const headers = Object.fromEntries(
    lines.map(one => {
      const at = one.indexOf(':');
      return [one.slice(0, at).toLowerCase(), one.slice(at + 1).trim()];
    }),
  );
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(line)?.[1] ?? assert.fail(line));
  const isChunked = headers['transfer-encoding'] === 'chunked';
  return {
    head: { status, headers },
    isStream: headers['content-type'] === 'text/event-stream',
    isChunked,
    missing: isChunked ? undefined : Number(headers['content-length'] ?? 0),
    text: '',
  };
}
