import assert from 'node:assert/strict';
import { describe, test } from 'vitest';
import { startCpuTimer } from '#helpers/cpu-time';
import { createLineChannel } from '#jsonrpc';
import { createDemux } from '../../../../hub/runtimes/docker/container/attach.ts';

const frameBytes = 32 * 1024;

describe('the demultiplexer', () => {
  test('separates frames however the bytes are split', () => {
    const random = generator(20260101);
    for (let round = 0; round < 200; round++) {
      const frames = Array.from({ length: 1 + (random() % 12) }, () => ({
        stream: 1 + (random() % 2),
        payload: filled(random() % 600, random() % 256),
      }));
      const bytes = Buffer.concat(frames.map(({ stream, payload }) => frame(stream, payload)));
      const got = collect();
      for (let at = 0; at < bytes.length;) {
        const end = Math.min(bytes.length, at + 1 + (random() % 40));
        got.push(bytes.subarray(at, end));
        at = end;
      }
      for (const stream of [1, 2] as const)
        assert.deepEqual(
          got.of(stream),
          Buffer.concat(frames.filter(one => one.stream === stream).map(one => one.payload)),
          `round ${round}, stream ${stream}`,
        );
    }
  });

  test('separates frames that arrive byte by byte', () => {
    const got = collect();
    const bytes = Buffer.concat([frame(1, Buffer.from('out')), frame(2, Buffer.from('err'))]);
    for (const byte of bytes) got.push(Buffer.from([byte]));
    assert.equal(got.of(1).toString(), 'out');
    assert.equal(got.of(2).toString(), 'err');
  });

  test('skips a frame without a payload', () => {
    const got = collect();
    got.push(Buffer.concat([frame(1, Buffer.alloc(0)), frame(1, Buffer.from('x'))]));
    assert.equal(got.of(1).toString(), 'x');
  });

  test('treats messages of the engine itself as stderr', () => {
    const got = collect();
    got.push(frame(3, Buffer.from('engine says')));
    assert.equal(got.of(2).toString(), 'engine says');
  });

  test('copies no payload', () => {
    const bytes = Buffer.concat([frame(1, filled(1000, 7)), frame(1, filled(1000, 8))]);
    const owners: unknown[] = [];
    const demux = createDemux({
      stdout: chunk => owners.push(chunk.buffer),
      stderr: () => assert.fail('nothing was written to stderr'),
      broken: assert.fail,
    });
    demux.push(bytes.subarray(0, 700));
    demux.push(bytes.subarray(700));
    assert.deepEqual(
      owners.map(owner => owner === bytes.buffer),
      [true, true, true],
    );
  });

  for (const [what, header] of [
    ['an unknown stream', [9, 0, 0, 0, 0, 0, 0, 1]],
    ['text, as from a terminal', Array.from(Buffer.from('{"jsonrp'))],
  ] as const)
    test(`reports that the stream is out of step at ${what}, once, and reads no further`, () => {
      const problems: string[] = [];
      const demux = createDemux({
        stdout: () => assert.fail('nothing may come through'),
        stderr: () => assert.fail('nothing may come through'),
        broken: problem => problems.push(problem),
      });
      demux.push(Buffer.concat([Buffer.from(header), filled(100, 1)]));
      demux.push(frame(1, Buffer.from('late')));
      assert.equal(problems.length, 1);
      assert.match(problems[0] ?? '', /invalid frame header: /);
    });

  test('passes a line of 50 MB in linear time', () => {
    const message = Buffer.concat([
      Buffer.from('{"jsonrpc":"2.0","id":1,"result":"'),
      filled(50 * 1024 * 1024, 0x61),
      Buffer.from('"}\n'),
    ]);
    let received = 0;
    const line = createLineChannel(
      { server: 'big', maxLineBytes: 64 * 1024 * 1024, maxWaitingBytes: 1 },
      { write: () => {}, waitingBytes: () => 0, end: () => {} },
    );
    line.channel.listen({
      message: ({ bytes }) => (received = bytes.length),
      oversized: () => assert.fail('the line is within the bound'),
      noise: assert.fail,
    });
    const demux = createDemux({
      stdout: chunk => line.push(chunk),
      stderr: () => {},
      broken: assert.fail,
    });

    const cpuMs = startCpuTimer();
    for (let at = 0; at < message.length; at += frameBytes)
      demux.push(frame(1, message.subarray(at, at + frameBytes)));
    assert.equal(received, message.length - 1);
    // Joining all buffered bytes at each of the 1600 frames would copy 40 GB, which takes at least 30 s.
    assert.ok(cpuMs() < 8_000, `took ${cpuMs()} ms`);
  });
});

function collect() {
  const chunks: Record<1 | 2, Buffer[]> = { 1: [], 2: [] };
  const demux = createDemux({
    stdout: chunk => chunks[1].push(chunk),
    stderr: chunk => chunks[2].push(chunk),
    broken: assert.fail,
  });
  return {
    push: (chunk: Buffer) => demux.push(chunk),
    of: (stream: 1 | 2) => Buffer.concat(chunks[stream]),
  };
}

function frame(stream: number, payload: Buffer): Buffer {
  const header = Buffer.alloc(8);
  header[0] = stream;
  header.writeUInt32BE(payload.length, 4);
  return Buffer.concat([header, payload]);
}

const filled = (bytes: number, value: number) => Buffer.alloc(bytes, value);

/** Returns a generator of numbers that are the same in each run (Lehmer, modulus 2^31 - 1). */
function generator(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 48_271) % 2_147_483_647);
}
