import { createSocketTables } from '#http';
import type { ConfigFiles } from './wire-config.ts';

/** Returns what the first screen shows about the hub. */
export const aboutHub = async (
  { file, shipped }: Pick<ConfigFiles, 'file' | 'shipped'>,
  place: { readonly auto: string; readonly engine: string },
) => ({
  sandbox: sandboxText(place),
  config: `${file}${(await shipped?.standsIn(file)) ? ' (the one of AgentHub, as there is none here)' : ''}, watched: changes apply at once`,
});

const sandboxText = ({ auto, engine }: { readonly auto: string; readonly engine: string }) =>
  auto === 'docker'
    ? `a container for each server, ${engine}`
    : 'NONE: no Docker engine answers, so servers run as processes of this machine, with your rights';

/** Provides what identifies the user of a connection, which is possible only on Linux. */
export const usersOfPeers = () =>
  process.platform === 'linux' && process.getuid
    ? { peers: { tables: createSocketTables(), uid: process.getuid() } }
    : {};
