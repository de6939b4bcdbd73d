import assert from 'node:assert/strict';
import { test } from 'vitest';
import { until } from '#helpers/hub';
import { createSocketTables, findOwner } from '../../hub/http/peers.ts';

const head =
  '  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode\n';
const row = (ends: string, state: string, uid: number, inode: number) =>
  `   1: ${ends} ${state} 00000000:00000000 00:00000000 00000000 ${String(uid).padStart(5)}        0 ${inode} 1 0000000000000000 20 4 30 10 -1\n`;

const client = '0100007F:D431';
const hub = '0100007F:2382';
const clientMapped = '0000000000000000FFFF00000100007F:D431';
const hubMapped = '0000000000000000FFFF00000100007F:2382';
const client6 = '00000000000000000000000001000000:D431';
const hub6 = '00000000000000000000000001000000:2382';
const global6 = 'B80D0120000000000000000005000000:D431';

const v4 = { address: '127.0.0.1', port: 0xd431 };
const v4Hub = { address: '127.0.0.1', port: 0x2382 };
const v6 = { address: '::1', port: 0xd431 };
const v6Hub = { address: '::1', port: 0x2382 };
const mapped = { address: '::ffff:127.0.0.1', port: 0xd431 };

type End = typeof v4;
const rows: readonly (readonly [
  what: string,
  ends: readonly [End, End],
  tcp: string,
  tcp6: string,
  owner: number | undefined,
])[] = [
  ['of a client over IPv4', [v4, v4Hub], row(`${client} ${hub}`, '01', 1001, 7), '', 1001],
  [
    'of a client over IPv4 by a socket of IPv6',
    [v4, v4Hub],
    '',
    row(`${clientMapped} ${hubMapped}`, '01', 1001, 7),
    1001,
  ],
  [
    'of a client whose address is told as a mapped one',
    [mapped, v4Hub],
    row(`${client} ${hub}`, '01', 1001, 7),
    '',
    1001,
  ],
  ['of a client over IPv6', [v6, v6Hub], '', row(`${client6} ${hub6}`, '01', 1001, 7), 1001],
  [
    'of a client of another address',
    [{ address: '2001:db8::5', port: 0xd431 }, v6Hub],
    '',
    row(`${global6} ${hub6}`, '01', 1001, 7),
    1001,
  ],
  ['of root', [v4, v4Hub], row(`${client} ${hub}`, '01', 0, 7), '', 0],
  ['that has stopped writing', [v4, v4Hub], row(`${client} ${hub}`, '05', 1001, 7), '', 1001],
  ['whose process has ended', [v4, v4Hub], row(`${client} ${hub}`, '05', 0, 0), '', undefined],
  ['in TIME_WAIT', [v4, v4Hub], row(`${client} ${hub}`, '06', 0, 0), '', undefined],
  [
    'that follows one in TIME_WAIT',
    [v4, v4Hub],
    row(`${client} ${hub}`, '06', 0, 0) + row(`${client} ${hub}`, '01', 1001, 7),
    '',
    1001,
  ],
  ["of the hub's own end", [v4, v4Hub], row(`${hub} ${client}`, '01', 0, 7), '', undefined],
  ['of another port', [v4, v4Hub], row(`0100007F:D432 ${hub}`, '01', 1001, 7), '', undefined],
];
for (const [what, [local, remote], tcp, tcp6, owner] of rows)
  test(`the owner of a socket ${what} is ${owner ?? 'unknown'}`, async () => {
    const tables = createSocketTables(table => whole(head + (table === 'tcp' ? tcp : tcp6)));
    assert.equal(await findOwner(local, remote, tables), owner);
  });

test('a row is found wherever the kernel splits the table', async () => {
  const table = head + row(`${client} ${hub}`, '06', 0, 0) + row(`${client} ${hub}`, '01', 1001, 7);
  for (let cut = 0; cut <= table.length; cut++) {
    const tables = createSocketTables(async function* () {
      yield table.slice(0, cut);
      yield table.slice(cut);
    });
    assert.equal(await findOwner(v4, v4Hub, tables), 1001, `cut at ${cut}`);
  }
});

test('the last row is found without a line end', async () => {
  const tables = createSocketTables(() =>
    whole((head + row(`${client} ${hub}`, '01', 1001, 7)).trimEnd()),
  );
  assert.equal(await findOwner(v4, v4Hub, tables), 1001);
});

test('a table is read no further than the wanted rows', async () => {
  let isClosed = false;
  const tables = createSocketTables(async function* () {
    try {
      yield head + row(`${client} ${hub}`, '01', 1001, 7);
      assert.fail('it was read further');
    } finally {
      isClosed = true;
    }
  });
  assert.equal(await findOwner(v4, v4Hub, tables), 1001);
  assert.equal(isClosed, true);
});

test('a row that the kernel skipped is found by another reading', async () => {
  let readings = 0;
  const tables = createSocketTables(table =>
    whole(
      table === 'tcp' && ++readings === 2 ? head + row(`${client} ${hub}`, '01', 1001, 7) : head,
    ),
  );
  assert.equal(await findOwner(v4, v4Hub, tables), 1001);
});

test('concurrent look-ups share a reading, which begins after each of them', async () => {
  const readings: ((text: string) => void)[] = [];
  const tables = createSocketTables(async function* () {
    yield await new Promise<string>(resolve => void readings.push(resolve));
  });
  const text = async () => await tables.search('tcp', rows => rows || undefined);
  const first = text();
  const later = [text(), text()];
  assert.equal(readings.length, 1);
  readings[0]?.('old\n');
  assert.equal(await first, 'old\n');
  await until(() => readings.length === 2);
  const latest = text();
  readings[1]?.('new\n');
  assert.deepEqual(await Promise.all(later), ['new\n', 'new\n']);
  await until(() => readings.length === 3);
  readings[2]?.('newest\n');
  assert.equal(await latest, 'newest\n');
});

test('a look-up that has found its row does not wait for the others', async () => {
  const more = Promise.withResolvers<void>();
  const tables = createSocketTables(async function* () {
    yield 'one\n';
    await more.promise;
    yield 'two\n';
  });
  const find = async (wanted: string) =>
    await tables.search('tcp', rows => (rows.includes(wanted) ? wanted : undefined));
  // Starts a reading of the table. The searches below come too late to join it, and share the next reading.
  const before = find('one');
  const [one, two, three] = [find('one'), find('two'), find('three')];
  assert.deepEqual(await Promise.all([before, one]), ['one', 'one']);
  more.resolve();
  assert.deepEqual(await Promise.all([two, three]), ['two', undefined]);
});

test('a table that cannot be read fails the waiting look-ups, and is read again', async () => {
  let readings = 0;
  const tables = createSocketTables(async function* () {
    if (++readings < 3) throw new Error('EACCES');
    yield head;
  });
  const text = async () => await tables.search('tcp', rows => rows || undefined);
  const both = await Promise.allSettled([text(), text()]);
  assert.deepEqual(
    both.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  assert.equal(await text(), head);
});

async function* whole(table: string): AsyncGenerator<string> {
  yield table;
}
