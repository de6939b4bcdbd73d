import { createHash } from 'node:crypto';
import { type Naming, nameHashLength as hashLength } from '#config';
import type { Log } from '#core';

/** An item that needs a public name. `server` offers the item under `name`. */
export type Wish = {
  readonly server: string;
  readonly name: string;
  /** Fixed public name of an item of the hub itself; absent for the items of servers. */
  readonly publicName?: string | undefined;
};

/** Names of the hub's own items. No server gets these names, even if the hub does not currently offer the items. */
export const reservedNames = {
  tool: ['agenthub_enhance_prompt', 'find_tools', 'call_tool'],
  prompt: ['enhance'],
} as const;

/** An item that got `publicName`, because another item has or could have the wanted name. */
export type Collision = {
  readonly server: string;
  readonly name: string;
  readonly wanted: string;
  readonly publicName: string;
};

/** The result of the assignment: `names` has one public name for each wish, in the same order. */
type Assigned = { readonly names: readonly string[]; readonly collisions: readonly Collision[] };

const endsInHash = /_[0-9a-f]{7}$/;

/**
 * Returns the wanted public name of a tool or prompt (spec 5.2): `<server><separator><name>`. Characters that some
 * client or model API refuses are replaced. A name longer than `maxLength` is cut and ends in a stable hash.
 */
function publicNameOf(wish: Wish, naming: Naming): string {
  const whole = `${wish.server}${naming.separator}${wish.name}`;
  const allowed = whole.replace(naming.separator === '.' ? /[^\w.-]/g : /[^\w-]/g, '_');
  // The hash distinguishes names that are equal after replacement. A name that already ends like a hash gets a hash
  // too, as it could equal the hashed name of another item.
  return allowed === whole && whole.length <= naming.maxLength && !endsInHash.test(whole)
    ? whole
    : withHash(allowed, wish, naming);
}

/**
 * Assigns public names. `servers` are all configured servers, running or not: a name belongs to the server with the
 * longest name that is a prefix of it. With `github` and `github_enterprise`, a tool `enterprise_search` of `github`
 * always gets a hash, whatever the other server offers. Otherwise the name could move to the other server when that
 * server starts, and clients with an old list would call the wrong tool (decisions/0009). In any other collision,
 * such as a name that is listed twice, the first item gets the name. No item gets a `reserved` name.
 */
export function assignNames(
  wishes: readonly Wish[],
  servers: readonly string[],
  naming: Naming,
  reserved: readonly string[] = [],
): Assigned {
  const longerOnes = prefixesWithin(servers, naming);
  return assign(wishes, reserved, wish => {
    const wanted = publicNameOf(wish, naming);
    const isOfAnother = longerOnes.get(wish.server)?.some(prefix => wanted.startsWith(prefix));
    const first = isOfAnother ? withHash(wanted, wish, naming) : wanted;
    // A server may list a name twice, or a name that equals the hashed name of another item.
    return { wanted, first, next: (_, again) => withHash(wanted, wish, naming, again) };
  });
}

/** Assigns public URIs. A URI that another server lists too gets the server's name as a prefix. */
export const assignUris = (wishes: readonly Wish[]): Assigned =>
  assign(wishes, [], ({ server, name }) => ({
    wanted: name,
    first: name,
    next: taken => `${server}+${taken}`,
  }));

/** Gives each wish its fixed name, else the first free name. */
function assign(
  wishes: readonly Wish[],
  reserved: readonly string[],
  namesFor: (wish: Wish) => {
    readonly wanted: string;
    readonly first: string;
    readonly next: (taken: string, again: number) => string;
  },
): Assigned {
  const taken = new Set([...reserved, ...wishes.flatMap(({ publicName }) => publicName ?? [])]);
  const collisions: Collision[] = [];
  const names = wishes.map(wish => {
    if (wish.publicName !== undefined) return wish.publicName;
    const { wanted, first, next } = namesFor(wish);
    let publicName = first;
    for (let again = 0; taken.has(publicName); again++) publicName = next(publicName, again);
    if (publicName !== wanted)
      collisions.push({ server: wish.server, name: wish.name, wanted, publicName });
    taken.add(publicName);
    return publicName;
  });
  return { names, collisions };
}

/** Maps each server to the longer prefixes of other servers that start with its own prefix. */
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

/** Maximum number of collisions that are logged; `/servers` lists all of them. */
const maxKnown = 10_000;
/** Maximum number of collisions named in one log line. */
const maxShown = 20;

/** Returns a function that logs each collision once. Call it with all current collisions. */
export function createCollisionLog(log: Pick<Log, 'warn'>): (all: readonly Collision[]) => void {
  const known = new Set<string>();
  return all => {
    const fresh = all.filter(({ server, name, publicName }) => {
      const key = JSON.stringify([server, name, publicName]);
      if (known.has(key) || known.size >= maxKnown) return false;
      known.add(key);
      return true;
    });
    if (fresh.length === 0) return;
    const fields = { collisions: fresh.slice(0, maxShown), count: fresh.length };
    log.warn(fields, 'several servers offer the same names: some got other names');
  };
}
