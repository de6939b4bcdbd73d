import { createHash } from 'node:crypto';
import type { Naming } from '#config';

/** Something that wants a public name: `server` offers it under `name`. */
export type Wish = {
  readonly server: string;
  readonly name: string;
  /** Set for an item of the hub's own whose name is fixed. */
  readonly publicName?: string | undefined;
};

/** Names of the hub's own items, which no server gets, whether the hub offers these items now or not. */
export const reservedNames = {
  tool: ['agenthub_enhance_prompt'],
  prompt: ['enhance'],
} as const;

/** A name that another server or another of its own tools has or could have; it got `publicName`. */
export type Collision = {
  readonly server: string;
  readonly name: string;
  readonly wanted: string;
  readonly publicName: string;
};

const hashLength = 7;
const endsInHash = /_[0-9a-f]{7}$/;

/**
 * The public name of a tool or prompt (spec 5.2): `<server><separator><name>`, within the characters
 * that every client and model API takes, cut to `maxLength` characters with a stable hash at the end.
 */
function publicNameOf(wish: Wish, naming: Naming): string {
  const whole = `${wish.server}${naming.separator}${wish.name}`;
  const allowed = whole.replace(naming.separator === '.' ? /[^\w.-]/g : /[^\w-]/g, '_');
  // A name in which characters were replaced could equal that of a neighbour: the hash keeps them apart.
  // One that looks as if it ended in a hash could equal the name that another got with one.
  return allowed === whole && whole.length <= naming.maxLength && !endsInHash.test(whole)
    ? whole
    : withHash(allowed, wish, naming);
}

/**
 * Names all wishes. `servers` are all that are configured, whether they run or not: a name belongs to
 * the one with the longest name that it begins with. So of `github` and `github_enterprise` a tool
 * `enterprise_search` of the first gets a hash, from the start and whatever the second offers, since
 * a name that changed hands when another server starts would call another tool for a client that
 * listed it before (decisions/0009). What is left, such as a name listed twice, goes to the first. Nobody
 * gets a name that is `reserved`.
 */
export function assignNames(
  wishes: readonly Wish[],
  servers: readonly string[],
  naming: Naming,
  reserved: readonly string[] = [],
): {
  readonly names: readonly string[];
  readonly collisions: readonly Collision[];
} {
  const longerOnes = prefixesWithin(servers, naming);
  const taken = new Set(reserved);
  const collisions: Collision[] = [];
  const names = wishes.map(wish => {
    if (wish.publicName !== undefined) return wish.publicName;
    const wanted = publicNameOf(wish, naming);
    const isOfAnother = longerOnes.get(wish.server)?.some(prefix => wanted.startsWith(prefix));
    let publicName = isOfAnother ? withHash(wanted, wish, naming) : wanted;
    // A server may also list a name twice, or one that looks like the hashed name of another.
    for (let again = 0; taken.has(publicName); again++)
      publicName = withHash(wanted, wish, naming, again);
    if (publicName !== wanted)
      collisions.push({ server: wish.server, name: wish.name, wanted, publicName });
    taken.add(publicName);
    return publicName;
  });
  return { names, collisions };
}

/** For each server the beginnings of the names of those whose beginning goes on from its own. */
function prefixesWithin(
  servers: readonly string[],
  { separator }: Naming,
): ReadonlyMap<string, readonly string[]> {
  const prefixes = servers.map(server => `${server}${separator}`);
  return new Map(
    servers.map(server => {
      const own = `${server}${separator}`;
      return [server, prefixes.filter(prefix => prefix !== own && prefix.startsWith(own))];
    }),
  );
}

function withHash(name: string, wish: Wish, naming: Naming, again = 0): string {
  const hash = createHash('sha256')
    .update(`${wish.server}\0${wish.name}${again === 0 ? '' : `\0${again}`}`)
    .digest('hex')
    .slice(0, hashLength);
  return `${name.slice(0, naming.maxLength - hashLength - 1)}_${hash}`;
}
