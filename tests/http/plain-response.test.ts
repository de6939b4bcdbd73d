import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { Socket } from 'node:net';
import { describe, test } from 'vitest';
import { PlainResponse } from '../../hub/http/plain-response.ts';

/** Creates a connection that is not open, and records what is written to it. */
function openLink() {
  let sent = '';
  let writes = 0;
  type Write = { readonly chunk: Buffer | string; readonly encoding: BufferEncoding };
  function write(all: readonly Write[], done: () => void): void {
    writes++;
    for (const { chunk, encoding } of all)
      sent += (typeof chunk === 'string' ? Buffer.from(chunk, encoding) : chunk).toString('latin1');
    done();
  }
  const socket = Object.assign(new Socket(), {
    _write: (chunk: Write['chunk'], encoding: BufferEncoding, done: () => void) =>
      write([{ chunk, encoding }], done),
    _writev: write,
  });
  const waits: (readonly [delayMs: number, stalled: (() => void) | undefined])[] = [];
  let answered = 0;
  const link = {
    socket,
    commonLines: () => 'Date: today\r\n',
    answered: () => void answered++,
    patience: (...wait: (typeof waits)[number]) => void waits.push(wait),
  };
  return {
    socket,
    waits,
    respond: (isNext = true) => new PlainResponse(link, isNext),
    sent: () => sent,
    writes: () => writes,
    answered: () => answered,
  };
}

const body = Buffer.from('{}');
const asJson = { 'content-type': 'application/json' };

describe('a whole response', () => {
  test('has its length and is sent in one write', () => {
    const { respond, sent, writes, answered } = openLink();
    respond().writeHead(200, asJson).end(body);
    assert.equal(
      sent(),
      'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nDate: today\r\nContent-Length: 2\r\n\r\n{}',
    );
    assert.deepEqual([writes(), answered()], [1, 1]);
  });

  test('has each byte of a body that is not ASCII, copied with the head or apart from it', () => {
    for (const length of [8 * 1024, 8 * 1024 + 1]) {
      const bytes = Buffer.alloc(length, 'ü€');
      const { respond, sent, writes } = openLink();
      respond().writeHead(200).end(bytes);
      const [head, text = ''] = sent().split('\r\n\r\n');
      assert.match(head ?? '', new RegExp(`Content-Length: ${length}$`));
      assert.ok(Buffer.from(text, 'latin1').equals(bytes));
      assert.equal(writes(), 1);
    }
  });

  test('repeats no given length, and has length 0 without a body', () => {
    const one = openLink();
    one.respond().writeHead(200, { 'content-length': 2 }).end(body);
    assert.equal(one.sent(), 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\nDate: today\r\n\r\n{}');
    const other = openLink();
    other.respond().writeHead(202).end();
    assert.equal(other.sent(), 'HTTP/1.1 202 Accepted\r\nDate: today\r\nContent-Length: 0\r\n\r\n');
  });
});

describe('a streamed response', () => {
  test('is sent in chunks, of which an empty one does not end it', () => {
    const { respond, sent, answered } = openLink();
    const response = respond().writeHead(200);
    response.flushHeaders();
    response.flushHeaders();
    assert.equal(sent(), 'HTTP/1.1 200 OK\r\nDate: today\r\nTransfer-Encoding: chunked\r\n\r\n');
    for (const chunk of ['', 'ü', Buffer.alloc(0), Buffer.alloc(16, 'a')])
      assert.ok(response.write(chunk));
    assert.equal(answered(), 0);
    response.end(Buffer.from('z'));
    assert.deepEqual(
      [sent().split('\r\n\r\n').slice(1).join('\r\n\r\n'), answered()],
      [
        `2\r\n${Buffer.from('ü').toString('latin1')}\r\n10\r\n${'a'.repeat(16)}\r\n1\r\nz\r\n0\r\n\r\n`,
        1,
      ],
    );
  });

  test('of a known length has no chunks', () => {
    const { respond, sent } = openLink();
    const response = respond().writeHead(200, { 'content-length': 4 });
    response.write('ab');
    response.end(Buffer.from('cd'));
    assert.equal(sent(), 'HTTP/1.1 200 OK\r\ncontent-length: 4\r\nDate: today\r\n\r\nabcd');
  });
});

test.each(['a\r\nset-cookie: b', 'a\nb', 'ü', '\0', '\x7f'])(
  'the header value %j is refused',
  value => {
    const { respond, sent } = openLink();
    const response = respond();
    assert.throws(() => response.writeHead(200, { location: value }), TypeError);
    assert.equal(response.headersSent, false);
    assert.equal(sent(), '');
  },
);

describe('a response behind others', () => {
  test('is held back until its turn, and then sent as it was written', () => {
    const { respond, sent, waits, answered } = openLink();
    const response = respond(false).writeHead(200);
    const stalled = () => {};
    response.setTimeout(5, stalled);
    response.flushHeaders();
    response.cork();
    response.write('abc');
    response.uncork();
    response.end(body);
    assert.deepEqual([sent(), waits.length, answered()], ['', 0, 0]);
    assert.equal(response.writableLength, 5);
    assert.equal(response.destroyed, false);
    response.takeTurn();
    assert.equal(
      sent(),
      'HTTP/1.1 200 OK\r\nDate: today\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\n{}\r\n0\r\n\r\n',
    );
    assert.deepEqual(waits, [[5, stalled]]);
    assert.deepEqual([response.writableLength, response.destroyed, answered()], [0, true, 1]);
  });

  test('that begins after its turn is sent at once', () => {
    const { respond, sent } = openLink();
    const response = respond(false);
    response.takeTurn();
    response.writeHead(200).end();
    assert.match(sent(), /^HTTP\/1\.1 200 OK/);
  });
});

describe('the close event of a response', () => {
  const closing = (response: PlainResponse) => {
    let count = 0;
    for (const listen of ['on', 'once'] as const) response[listen]('close', () => count++);
    return () => count;
  };

  test('reaches each listener once, and no later one', () => {
    const { respond } = openLink();
    const response = respond().writeHead(200);
    const closed = closing(response);
    response.end(body);
    const late = closing(response);
    response.closed();
    assert.deepEqual([closed(), late()], [2, 0]);
  });

  test('also comes when the connection is lost', () => {
    const { respond } = openLink();
    const closed = closing(respond());
    const lost = respond(false);
    const lostClosed = closing(lost);
    lost.closed();
    lost.closed();
    assert.deepEqual([closed(), lostClosed()], [0, 2]);
    assert.equal(lost.write('a'), false);
  });

  test('is followed by neither writes nor a second end', () => {
    const { respond, sent, answered } = openLink();
    const response = respond().writeHead(200);
    response.end(body);
    const before = sent();
    assert.equal(response.write('more'), false);
    response.end(body);
    assert.deepEqual([sent(), answered()], [before, 1]);
  });

  test('leaves no timeout callback for the next request', () => {
    const { respond, waits } = openLink();
    const response = respond().writeHead(200);
    const stalled = () => {};
    response.setTimeout(1, stalled);
    response.end(body);
    response.setTimeout(2, stalled);
    assert.deepEqual(waits, [
      [1, stalled],
      [2, undefined],
    ]);
  });

  test('does not end a response whose connection was destroyed', () => {
    const { respond, socket, sent, answered } = openLink();
    const response = respond().writeHead(200);
    response.destroy();
    assert.ok(socket.destroyed && response.destroyed);
    assert.equal(response.write('a'), false);
    response.end(body);
    assert.deepEqual([sent(), answered()], ['', 0]);
  });
});
