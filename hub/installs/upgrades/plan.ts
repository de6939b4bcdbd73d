import { hash } from 'node:crypto';
import { type PackageSpec, type ServerConfig, findLoosenings } from '#config';
import { HubError, type JsonObject } from '#core';
import type { DefinitionComparison } from '#definitions';
import { packageKeyOf } from '../pins.ts';
import type { InstallEntry } from '../request.ts';
import type { Trial } from '../trial.ts';

/** Describes what another version of a server's package changes. */
export type UpgradePlan = JsonObject & {
  readonly name: string;
  /** Packages in the notation of config entries. */
  readonly from: string;
  readonly to: string;
  /** Digest of the plan's content. An upgrade with `accept` set to it refuses any other plan. */
  readonly digest: string;
  readonly is_changed: boolean;
};

type Version = { readonly entry: InstallEntry; readonly config: ServerConfig };

/** Describes what an upgrade changes, for people. Pure. */
export function describePlan(
  { from, to }: Readonly<Record<'from' | 'to', PackageSpec>>,
  before: Version,
  after: Version,
  { about }: Pick<Trial, 'about'>,
  comparison: DefinitionComparison | undefined,
): UpgradePlan {
  const permissions = permissionsOf(before, after);
  const changes = comparison?.changes ?? [];
  const planned = [from.spec, to.spec, comparison?.hashes ?? [], permissions.after];
  const digest = hash('sha256', JSON.stringify(planned), 'base64url');
  return {
    name: after.config.name,
    from: packageKeyOf(from),
    to: packageKeyOf(to),
    digest,
    is_changed: changes.length > 0 || permissions.added.length > 0,
    is_known: comparison?.isKnown ?? false,
    definitions: changes.map(({ kind, name, change, diff }) => ({
      kind,
      name,
      change,
      diff: diff.map(({ sign, text }) => ({ sign, text })),
    })),
    flags: comparison?.flags ?? [],
    permissions,
    offers: about,
  };
}

/** Returns the permissions beyond the default sandbox before and after an upgrade. */
function permissionsOf(before: Version, after: Version) {
  const namesOf = ({ entry, config }: Version) =>
    findLoosenings(entry, config).map(({ name }) => name);
  const [old, now] = [namesOf(before), namesOf(after)];
  return {
    before: old,
    after: now,
    added: now.filter(name => !old.includes(name)),
    removed: old.filter(name => !now.includes(name)),
  };
}

/** Throws HUB_CONFIRMATION_NEEDED for a plan that is not accepted, HUB_DEFINITION_STALE if another one was. */
export function requireAccepted(plan: UpgradePlan, accept: string | undefined): void {
  const { name, to, digest } = plan;
  if (accept === digest || (accept === undefined && !plan.is_changed)) return;
  if (accept === undefined)
    throw new HubError(
      'HUB_CONFIRMATION_NEEDED',
      `${to} changes what ${name} offers or may do. Nothing was changed. Look at it with "agenthub upgrade ${name} --dry-run", and send "accept" with the digest of the plan`,
      { data: { server: name, plan } },
    );
  throw new HubError(
    'HUB_DEFINITION_STALE',
    `${to} offers something else than what was accepted for ${name}. Nothing was changed. Look at it again with "agenthub upgrade ${name} --dry-run"`,
    { data: { server: name, retryable: false } },
  );
}
