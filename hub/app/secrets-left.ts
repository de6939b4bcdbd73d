import type { Config } from '#config';
import { messageOf } from '#core';
import type { LeftBehind } from '#installs';
import type { Secrets } from '#secrets';

/**
 * Returns the stored secrets that nothing in the config uses once this server is removed. They stay stored, because
 * the config of another hub may use them. Never rejects.
 */
export async function secretsLeftBy(
  server: string,
  uses: Config['secretUses'] = [],
  open: () => Promise<Pick<Secrets, 'stored'>>,
): Promise<readonly LeftBehind[]> {
  const namesOf = (isOwn: boolean) =>
    new Set(uses.flatMap(use => ((use.server === server) === isOwn ? use.secret : [])));
  const others = namesOf(false);
  const own = [...namesOf(true)].filter(name => !others.has(name));
  if (own.length === 0) return [];
  try {
    const stored = await (await open()).stored();
    return own
      .filter(name => stored.includes(name))
      .map(name => ({ kind: 'secret', name, why: unused(name) }));
  } catch (error) {
    return [{ kind: 'secrets of', name: server, why: messageOf(error) }];
  }
}

const unused = (name: string) =>
  `nothing in the config uses it now. "agenthub secret remove ${name}" removes it`;
