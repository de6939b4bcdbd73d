// Sets, lists and reads a secret in the keychain of this session: node keychain-user.ts FOLDER set|read. Prints JSON.
import { join } from 'node:path';
import { systemClock } from '#core';
import { createSecrets, loadKeyring } from '#secrets';
import { writeWhole } from '#store';

const [folder = '', action = ''] = process.argv.slice(2);
const secrets = createSecrets(
  { mountedFolder: '/nowhere', readEnvironment: async () => ({}) },
  {
    file: join(folder, 'secrets.json'),
    keyFile: join(folder, 'secrets.key'),
    readPassphrase: async () => undefined,
    writeWhole,
    clock: systemClock,
    load: loadKeyring,
  },
);
const done =
  action === 'set'
    ? await secrets.set('KEY', 'of the keychain')
    : action === 'remove'
      ? await secrets.remove('KEY')
      : undefined;
process.stdout.write(
  JSON.stringify({
    done,
    read: (await secrets.read(['KEY'])).get('KEY'),
    list: (await secrets.list([])).map(({ name, state }) => `${name} ${state}`),
  }),
);
