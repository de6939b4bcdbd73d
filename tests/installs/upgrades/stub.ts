import { HubError } from '#core';
import type { HttpNeeds } from '#http';

type Upgrades = NonNullable<HttpNeeds['hub']['upgrades']>;

/** Creates upgrades that answer as if a registry and an engine existed, and records the requests. */
export function createUpgradesStub() {
  const asked: string[] = [];
  const plan = (name: string) => ({
    name,
    from: 'n@1.0.0',
    to: 'n@2.0.0',
    digest: 'digest',
    is_changed: true,
    is_known: true,
    definitions: [
      {
        kind: 'tool',
        name: 'add',
        change: 'changed',
        diff: [
          { sign: '-', text: 'Adds.' },
          { sign: '+', text: 'Adds\u202e two.' },
          { sign: ' ', text: 'same' },
          ...Array.from({ length: 30 }, () => ({ sign: ' ', text: 'more' })),
        ],
      },
      { kind: 'tool', name: 'sub', change: 'added', diff: [] },
      { kind: 'tool', name: 'mul', change: 'removed', diff: [] },
    ],
    flags: [{ kind: 'tool', name: 'sub', flag: 'unseen', text: 'has unseen characters' }],
    permissions: {
      before: ['network:bridge'],
      after: ['mount:/x'],
      added: ['mount:/x'],
      removed: ['network:bridge'],
    },
    offers: {},
  });
  const upgrades: Upgrades = {
    outdated: async () => [
      { name: 'one', state: 'outdated', package: 'n', current: '1.0.0', newest: '2.0.0' },
      { name: 'two', state: 'current', package: 'm', current: '2.0.0', newest: '2.0.0' },
      { name: 'three', state: 'unpinned', package: 'o', current: null, newest: '1.0.0' },
      { name: 'four', state: 'unknown', package: 'p', current: '1.0.0', newest: null, why: 'away' },
    ],
    async upgrade({ name, version, accept, isDry }, tell) {
      asked.push(`upgrade ${name} ${version ?? '-'} ${accept ?? '-'} ${isDry}`);
      tell({ step: 'trial', text: 'it is started' });
      if (name === 'gone') throw new HubError('HUB_SERVER_UNKNOWN', 'no server is called "gone"');
      return { ...plan(name), done: !isDry };
    },
    async rollback(name) {
      asked.push(`rollback ${name}`);
      return { name, from: 'n@2.0.0', to: 'n@1.0.0' };
    },
    earlier: async name => (name === 'two' ? 'm@1.0.0' : undefined),
    async prune({ isDry }) {
      asked.push(`prune ${isDry}`);
      const image = { reference: 'agenthub/npm-n:1', package: 'n@1.0.0', bytes: 300_000_000 };
      const other = { ...image, reference: 'agenthub/npm-o:1', why: '1 other hub uses it' };
      return { removed: [image], left: [other] };
    },
  };
  return { upgrades, asked };
}
