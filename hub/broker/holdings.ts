import { z } from 'zod';
import { HubError } from '#core';
import type { Engine } from './engine.ts';
import { isIn } from './mounts.ts';
import { refusal } from './refusal.ts';
import { hubLabel, managedLabel } from './schema.ts';
import { show } from './target.ts';

/** A folder or file of the engine's machine that a container has. */
export type Bind = { readonly source: string; readonly readOnly: boolean };

/** A container that is there or is being created. `name` is absent where it is another hub's. */
type Holder = { readonly name?: string | undefined; readonly binds: readonly Bind[] };

/** Which containers there are, and what they hold of the machine's folders. */
export interface Holdings {
  /**
   * Admits a container to be created, and keeps its place until `done` is called. Throws
   * HUB_BROKER_REFUSED for one too many, and where a folder lies below another that a container of any hub may
   * write to. That one could put a link in the folder's place between the broker's look at it and the
   * engine's; as long as both cannot exist, there is nobody to do so.
   */
  reserve(name: string, binds: readonly Bind[]): Promise<() => void>;
}

/** How many containers one hub may have: a bound of the broker, far above what a workstation runs. */
export const mostContainers = 256;

/** Asks the engine each time, as containers outlive a broker. */
export function createHoldings(engine: Pick<Engine, 'ask'>, hubId: string): Holdings {
  const begun = new Set<Holder>();
  let turn: Promise<unknown> = Promise.resolve();

  async function admit(name: string, binds: readonly Bind[]): Promise<() => void> {
    // Taken before the engine is asked: what is created meanwhile is then in one of the two.
    const holders = [...begun, ...(await listHolders(engine, hubId))];
    // The engine refuses a name that is taken: what holds it will be gone before this one can be made.
    const others = holders.filter(holder => holder.name !== name);
    const own = new Set(others.map(holder => holder.name));
    own.delete(undefined);
    if (own.size >= mostContainers)
      throw refusal(
        `more than ${mostContainers} containers of one hub. Stop servers, or remove what is left of them`,
      );
    const mine: Holder = { name, binds };
    for (const other of [...others, mine]) {
      refuseNested(mine, other);
      refuseNested(other, mine);
    }
    begun.add(mine);
    return () => void begun.delete(mine);
  }

  return {
    reserve(name, binds) {
      const admitted = turn.then(() => admit(name, binds));
      turn = admitted.catch(() => undefined);
      return admitted;
    },
  };
}

/** Throws where a bind of one container lies below a bind that the other may write to. */
function refuseNested(inner: Holder, outer: Holder): void {
  for (const { source: folder, readOnly } of outer.binds) {
    const nested = readOnly ? undefined : inner.binds.find(bind => isBelow(bind.source, folder));
    if (nested === undefined) continue;
    throw refusal(
      `a mount of ${show(nested.source)}${of(inner)} beside a writable mount of ${show(folder)}${of(outer)}, ` +
        'which it lies in. Mount the outer one read-only, or the same folder in both',
    );
  }
}

const of = ({ name }: Holder) =>
  name === undefined ? ' in a container of another hub' : ` in ${name}`;

/** File systems of other systems than Linux may know one folder in capital and in small letters. */
function isBelow(path: string, folder: string): boolean {
  const [inner, outer] = [path.toLowerCase(), folder.toLowerCase()];
  return inner !== outer && isIn(inner, outer);
}

const listed = z.array(
  z.object({
    Id: z.string(),
    Names: z.array(z.string()),
    Labels: z.record(z.string(), z.string()),
    Mounts: z.array(z.object({ Type: z.string() })),
  }),
);

async function listHolders(engine: Pick<Engine, 'ask'>, hubId: string): Promise<readonly Holder[]> {
  const filters = JSON.stringify({ label: [`${managedLabel}=true`] });
  const { status, body } = await engine.ask(
    `/containers/json?all=1&filters=${encodeURIComponent(filters)}`,
  );
  const found = listed.safeParse(body);
  if (status !== 200 || !found.success) throw unreadable('list containers', status);
  return await Promise.all(
    found.data.map(async ({ Id, Names, Labels, Mounts }) => ({
      name: Labels[hubLabel] === hubId ? Names[0]?.slice(1) : undefined,
      binds: Mounts.some(mount => mount.Type === 'bind') ? await bindsOf(engine, Id) : [],
    })),
  );
}

const inspected = z.object({
  HostConfig: z.object({
    Binds: z.array(z.string()).nullish(),
    Mounts: z
      .array(
        z.object({
          Type: z.string(),
          Source: z.string().optional(),
          ReadOnly: z.boolean().optional(),
        }),
      )
      .nullish(),
  }),
});

/**
 * The binds of a container as its creation named them: elsewhere engines in a virtual machine show
 * paths of that machine. Empty for a container that is gone.
 */
export async function bindsOf(engine: Pick<Engine, 'ask'>, id: string): Promise<readonly Bind[]> {
  const { status, body } = await engine.ask(`/containers/${id}/json`);
  if (status === 404) return [];
  const found = inspected.safeParse(body);
  if (status !== 200 || !found.success) throw unreadable(`inspect the container ${id}`, status);
  const { Binds, Mounts } = found.data.HostConfig;
  return [
    // The old form, which no hub uses, is taken for writable.
    ...(Binds ?? []).map(bind => ({ source: bind.split(':')[0] ?? '', readOnly: false })),
    ...(Mounts ?? [])
      .filter(mount => mount.Type === 'bind')
      .map(({ Source = '', ReadOnly = false }) => ({ source: Source, readOnly: ReadOnly })),
  ];
}

function unreadable(what: string, status: number): HubError {
  return new HubError(
    'HUB_ENGINE_REFUSED',
    `the engine did not ${what} for the broker (status ${status})`,
  );
}
