import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test, vi } from 'vitest';
import { systemClock } from '#core';
import { createRedisLink } from '#redis';

/** A server can hang up in two ways. In both, the client may notice it while it reads, or only when it writes. */
for (const [how, hangUp] of [
  ['resets', 'resetAndDestroy'],
  ['closes', 'destroy'],
] as const)
  test(`a connection that is accepted and then lost is reported once, if the other end ${how} it`, async () => {
    const server = createServer(socket => void socket[hangUp]()).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const url = `redis://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}`;
    const reasons: string[] = [];
    const enough = Promise.withResolvers<void>();
    const link = createRedisLink(
      { url, channel: 'any', answerMs: 5_000, maxRetryMs: 1 },
      {
        clock: systemClock,
        random: () => 0,
        up: () => enough.reject(new Error('it is up')),
        heard: () => {},
        down: reason => {
          if (reasons.push(reason) === 50) enough.resolve();
        },
      },
    );
    try {
      await link.open();
      await enough.promise;
    } finally {
      await link.close();
      server.close();
    }
    const lost = new RegExp(
      `^the connection to ${new URL(url).host} was lost(?: \\(\\w+ (?:ECONNRESET|EPIPE).*\\))?$`,
    );
    for (const reason of reasons) assert.match(reason, lost);
  });

/** Connects to a server that answers each command like this. Returns the reason why the link goes down, or `up`. */
async function reasonAt(path: string, answerTo: (command: string) => string): Promise<string> {
  let found = '';
  await eventsAt(path, answerTo, reason => {
    found = reason;
    return true;
  });
  return found;
}

/** Connects to a server that answers each command like this. Calls `heard` with `up` or a reason until it returns true. */
async function eventsAt(
  path: string,
  answerTo: (command: string) => string,
  heard: (event: string) => boolean,
): Promise<void> {
  const server = createServer(socket => {
    socket.on('error', () => {});
    socket.on('data', (sent: Buffer) => {
      for (const [, command = ''] of sent.toString().matchAll(/\*\d+\r\n\$\d+\r\n(\w+)/g))
        socket.write(answerTo(command.toLowerCase()));
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const url = `redis://127.0.0.1:${typeof address === 'object' && address ? address.port : 0}${path}`;
  const ended = Promise.withResolvers<void>();
  const hear = (event: string) => {
    if (heard(event)) ended.resolve();
  };
  const needs = { clock: systemClock, random: () => 0, heard: () => {} };
  const link = createRedisLink(
    { url, channel: 'any' },
    { ...needs, up: () => hear('up'), down: hear },
  );
  try {
    await link.open();
    await ended.promise;
  } finally {
    await link.close();
    server.close();
  }
}

const answers: Readonly<Record<string, string>> = {
  hello: '%1\r\n$5\r\nproto\r\n:3\r\n',
  info: '$18\r\nredis_version:8.0\n\r\n',
  subscribe: '>3\r\n$9\r\nsubscribe\r\n$3\r\nany\r\n:1\r\n',
};
const redisWith = (select: string) => (command: string) =>
  command === 'select' ? select : (answers[command] ?? '+OK\r\n');

test('a database that Redis refuses is told, and no other one is used', async () => {
  assert.equal(await reasonAt('/1', redisWith('+OK\r\n')), 'up');
  const refused = await reasonAt('/99', redisWith('-ERR DB index is out of range\r\n'));
  assert.match(refused, /^127\.0\.0\.1:\d+: ERR DB index is out of range$/);
});

test('a Redis that loads its data is reported, and used when it has loaded them', async () => {
  const { promise: loaded, resolve: finish } = Promise.withResolvers<void>();
  let isLoading = true;
  void loaded.then(() => (isLoading = false));
  const loading = 'loading:1\r\nloading_eta_seconds:1\r\n';
  const answerTo = (command: string) =>
    command === 'info' && isLoading
      ? `$${loading.length}\r\n${loading}\r\n`
      : (answers[command] ?? '+OK\r\n');
  const reasons: string[] = [];
  await eventsAt('', answerTo, reason => {
    reasons.push(reason);
    finish();
    return reason === 'up';
  });
  assert.equal(reasons.length, 2);
  assert.match(
    reasons[0] ?? '',
    /^127\.0\.0\.1:\d+ is not ready after 2 s: it may be loading its data\. It is used as soon as it is ready$/,
  );
});

test('a user without the right to INFO is connected, and nothing is written to stderr', async () => {
  const warn = vi.spyOn(console, 'warn').mockReturnValue();
  const answerTo = (command: string) =>
    command === 'info'
      ? "-NOPERM User hub has no permissions to run the 'info' command\r\n"
      : (answers[command] ?? '+OK\r\n');
  try {
    assert.equal(await reasonAt('', answerTo), 'up');
    assert.deepEqual(warn.mock.calls, []);
  } finally {
    warn.mockRestore();
  }
});

test('the reasons of refusals have a remedy', async () => {
  for (const [error, remedy] of [
    [
      'NOAUTH Authentication required.',
      /NOAUTH Authentication required\. Set its password in REDIS_URL/,
    ],
    ['NOPERM no permission', /NOPERM no permission\. Allow its user/],
    ['WRONGTYPE Operation against a key', /WRONGTYPE Operation against a key\. .* remove that key/],
  ] as const) {
    const answerTo = (command: string) =>
      command === 'subscribe' ? `-${error}\r\n` : (answers[command] ?? '+OK\r\n');
    assert.match(await reasonAt('', answerTo), remedy);
  }
});

test('a server that is not Redis is called so', async () => {
  const reason = await reasonAt('', () => 'HTTP/1.1 400 Bad Request\r\n\r\n');
  assert.match(reason, /^127\.0\.0\.1:\d+: the server there is not Redis. Correct REDIS_URL$/);
});
