import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, test } from 'vitest';
import { createIo } from '#cli';
import { HubError } from '#core';
import { createManualClock } from '#helpers/clock';
import {
  confirmEach,
  confirmationsIn,
  isAgreed,
  loadForEdit,
  loadToAdd,
} from '../../hub/cli/confirm.ts';
import { createNeeds } from './run.ts';

type Answering = {
  readonly values?: Readonly<Record<string, unknown>>;
  /** Answers of the user, in order; undefined without a terminal. */
  readonly answers?: readonly string[];
};

/** Creates a run of a command, and records its questions and what it writes to stderr. */
function runWith({ values = {}, answers }: Answering) {
  const asked: string[] = [];
  const stderr = Object.assign(new PassThrough(), answers && { isTTY: true, columns: 200 });
  const io = createIo(
    { stdin: new PassThrough(), stdout: new PassThrough(), stderr },
    new AbortController().signal,
    createManualClock(),
  );
  const ask = async (question: string) => {
    asked.push(question);
    return answers?.[asked.length - 1] ?? assert.fail(`not expected: ${question}`);
  };
  const needs = createNeeds({ ask: answers && ask });
  const run = { ...io, values, isJson: values['json'] === true, needs };
  return { run, asked, err: () => String(stderr.read() ?? '') };
}

describe('a change of files is confirmed', () => {
  test.for([
    [{ values: { yes: true } }, true],
    [{ values: { yes: true, 'dry-run': true } }, false],
    [{ values: { 'dry-run': true } }, false],
    [{ answers: ['y'] }, true],
    [{ answers: [' YES '] }, true],
    [{ answers: [''] }, false],
    [{ answers: ['n'] }, false],
    [{ answers: ['yess'] }, false],
  ] as const)('with %j: %s', async ([given, isWritten]) => {
    const { run, asked } = runWith(given);
    assert.equal(await isAgreed('Write it?', run), isWritten);
    assert.deepEqual(asked, 'answers' in given ? ['Write it? [y/N] '] : []);
  });

  test.for([{}, { answers: ['y'], values: { json: true } }])(
    'not without a terminal, nor with --json: %j',
    async given => {
      const { run, asked } = runWith(given);
      await assert.rejects(isAgreed('Write it?', run), { code: 'HUB_USAGE', message: /--yes/ });
      assert.deepEqual(asked, []);
    },
  );
});

const network = { name: 'network:bridge', message: 'It can reach the network.' };
const mount = { name: "mount:/it's here:/a:rw", message: 'It can write to /it.' };

describe('settings of one server', () => {
  test('need no confirmation if there are none', async () => {
    assert.deepEqual(await confirmEach('one', [], runWith({}).run), []);
  });

  test('that --allow names are not asked for, and the others are, until an answer no', async () => {
    const given = { values: { allow: [network.name] }, answers: ['y'] };
    const allowed = runWith(given);
    assert.deepEqual(await confirmEach('one', [network, mount], allowed.run), [
      network.name,
      mount.name,
    ]);
    assert.deepEqual(allowed.asked, [`Allow ${mount.name}? [y/N] `]);
    assert.equal(allowed.err(), 'one: It can write to /it.\n');
    const refused = runWith({ answers: ['n'] });
    assert.equal(await confirmEach('one', [network, mount], refused.run), undefined);
    assert.equal(refused.asked.length, 1);
  });

  test('are listed with the flags that allow them, quoted for a shell, without a terminal', async () => {
    const { run } = runWith({});
    await assert.rejects(confirmEach('one', [network, mount], run), {
      code: 'HUB_USAGE',
      message: [
        'one needs more than the default sandbox, and there is no terminal to ask on:',
        '  network:bridge: It can reach the network.',
        "  mount:/it's here:/a:rw: It can write to /it.",
        "Nothing was written. To agree, add --allow network:bridge --allow 'mount:/it'\\''s here:/a:rw'",
      ].join('\n'),
    });
  });

  test.for([
    [
      [network],
      ['network'],
      'asks for: network:bridge. To agree, write --allow network:bridge instead',
    ],
    [[network], ['network', network.name], 'asks for: network:bridge. Remove it'],
    [[], ['user:0'], 'asks for: nothing beyond the default sandbox. Remove it'],
  ] as const)(
    'that the server does not ask for are refused: %j',
    async ([settings, allow, message]) => {
      const { run } = runWith({ values: { allow }, answers: [] });
      await assert.rejects(confirmEach('one', settings, run), error => {
        assert.ok(error instanceof HubError && error.message.includes(message), String(error));
        return true;
      });
    },
  );

  test('cannot write over the question on a terminal', async () => {
    const evil = { name: 'mount:/a\u001b[2K\n:/b:rw', message: 'fine\r\u001b[1Abad\nline' };
    const { run, asked, err } = runWith({ answers: ['n'] });
    await confirmEach('one', [evil], run);
    assert.deepEqual(asked, ['Allow mount:/a :/b:rw? [y/N] ']);
    assert.equal(err(), 'one: finebad line\n');
  });
});

describe('the config to edit', () => {
  const config = { servers: [], naming: { separator: '_', maxLength: 46 } } as const;

  test('is the one of the user, never the shipped one', async () => {
    const own = { file: 'a.json', config };
    assert.equal(await loadForEdit({ loadConfig: async () => own }), own);
    const shipped = { ...own, insteadOf: 'b.json' };
    const hint = { code: 'HUB_CONFIG_MISSING', message: /"agenthub init"/ };
    await assert.rejects(loadForEdit({ loadConfig: async () => shipped }), hint);
    const loadConfig = async () => {
      throw new HubError('HUB_CONFIG_MISSING', 'there is no such file');
    };
    await assert.rejects(loadForEdit({ loadConfig }), hint);
  });

  test('is created before the first start to add to it, with a note', async () => {
    const own = { file: 'a.json', config };
    const { run, err } = runWith({});
    const files = {
      ...run.needs.files,
      createConfig: async () => 'a.json',
      loadConfig: async () => own,
    };
    assert.equal(await loadToAdd({ ...run, needs: { ...run.needs, files } }), own);
    assert.match(err(), /^note: wrote a\.json, with the servers that come with AgentHub/);
  });

  test('that is not valid is refused with what is wrong', async () => {
    const loadConfig = async () => {
      throw new HubError('HUB_CONFIG_INVALID', 'what is wrong');
    };
    await assert.rejects(loadForEdit({ loadConfig }), /what is wrong/);
  });
});

test('settings to confirm are read from that error only', () => {
  const refusal = new HubError('HUB_CONFIRMATION_NEEDED', '', {
    data: { server: 'one', loosenings: [{ ...network, needsConfirmation: true }, 'other'] },
  });
  assert.deepEqual(confirmationsIn(refusal), { server: 'one', settings: [network] });
  const bare = new HubError('HUB_CONFIRMATION_NEEDED', '');
  assert.deepEqual(confirmationsIn(bare), { server: 'The server', settings: [] });
  assert.equal(confirmationsIn(new HubError('HUB_SERVER_EXISTS', '')), undefined);
  assert.equal(confirmationsIn(new Error('x')), undefined);
});
