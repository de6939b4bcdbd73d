import { join } from 'node:path';
import type { Command } from '../command.ts';
import { launchdPlist, systemdUnit } from '../service-files.ts';
import { textOf, usageError } from '../values.ts';

const managers = ['systemd', 'launchd'] as const;

/** `agenthub service print`: prints the file that makes the hub a service of this user. */
export const service: Command = {
  name: 'service',
  summary: 'Print a service file, so that the hub starts when you log in.',
  positionals: [
    { name: 'action', help: '"print".', completion: ['print'] },
    {
      name: 'manager',
      help: `${managers.join(' or ')}. Default: that of this system.`,
      count: 'optional',
      completion: managers,
    },
  ],
  options: {},
  details: [
    'The file starts the hub that "agenthub serve" starts in this folder, with the Node that runs this command. It contains no keys. Its first lines say how to install it. The launchd file is untested on macOS; there is none for Windows.',
  ],
  examples: [
    [
      'service print systemd',
      'As in: agenthub service print systemd > ~/.config/systemd/user/agenthub.service',
    ],
  ],
  async run({ values, needs, out }) {
    const action = textOf(values, 'action');
    if (action !== 'print')
      throw usageError(`${JSON.stringify(action)} is not allowed: write "service print"`);
    const { platform, home, ...program } = await needs.files.describeProgram();
    const manager = textOf(values, 'manager') ?? usualOn(platform);
    if (manager === 'systemd') out(systemdUnit(program).trimEnd());
    else if (manager === 'launchd')
      out(launchdPlist(program, join(home, 'Library', 'Logs', 'agenthub.log')).trimEnd());
    else
      throw usageError(
        `there is no service file for ${JSON.stringify(manager)}. Write systemd or launchd; on Windows add a task that runs "${program.node}" "${program.script}" serve to the Task Scheduler`,
      );
    return 0;
  },
};

function usualOn(platform: NodeJS.Platform): string {
  if (platform === 'darwin') return 'launchd';
  return platform === 'win32' ? 'Windows' : 'systemd';
}
