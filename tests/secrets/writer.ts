// Stores COUNT secrets, one after another: node writer.ts FOLDER PREFIX COUNT. Prints a line after each.
import { join } from 'node:path';
import { systemClock } from '#core';
import { createSecrets } from '#secrets';
import { writeWhole } from '#store';

const [folder = '', prefix = '', count = ''] = process.argv.slice(2);
const secrets = createSecrets(
  { mountedFolder: '/nowhere', readEnvironment: async () => ({}) },
  {
    file: join(folder, 'secrets.json'),
    keyFile: join(folder, 'secrets.key'),
    readPassphrase: async () => undefined,
    writeWhole,
    clock: systemClock,
    load: () => Promise.reject(new Error('there is no module')),
  },
);
for (let index = 0; index < Number(count); index++) {
  await secrets.set(`${prefix}${index}`, `value of ${prefix}${index}`);
  process.stdout.write(`${index}\n`);
}
