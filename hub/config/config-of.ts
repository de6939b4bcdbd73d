import { dirname, resolve } from 'node:path';
import { isObject } from '#core';
import { readActivity } from './activity-schema.ts';
import { readAgents } from './agents-schema.ts';
import { readApprovals } from './approvals-schema.ts';
import { readAudit } from './audit-schema.ts';
import { readCatalog } from './catalog-schema.ts';
import { type ClientConfig, readClients, readLimits } from './clients.ts';
import type { Config, SecretUse } from './config.ts';
import type { Document } from './document.ts';
import { readDocumentation } from './documentation.ts';
import { isEnabled } from './enabled.ts';
import { readFanOut } from './fan-out.ts';
import { forms } from './merge.ts';
import { readModels } from './models.ts';
import type { LoadOptions, MountGuard } from './mount-guard.ts';
import { type ServerConfig, normalizeServer } from './normalize.ts';
import { entryDigestOf, originOf, withFiles } from './origin.ts';
import { readPolicy } from './policy.ts';
import { type Problem, pathText, problemsOf } from './problem.ts';
import { readProfiles } from './profiles-schema.ts';
import { readRepositories } from './repositories-schema.ts';
import { configKeys, envelopeSchema } from './schema.ts';
import { interpreted } from './schema-parts.ts';
import { serverName, serverSchema } from './server-schema.ts';
import { findClosest } from './suggest.ts';
import { readTasks } from './tasks-schema.ts';
import {
  type SecretValues,
  expandServer,
  expandStrings,
  expandedKeys,
  ownParts,
  secretUsesIn,
  secretsIn,
  secretsOfEntry,
} from './variables.ts';

type Context = Pick<LoadOptions, 'env' | 'home'> & {
  /** True if the config consists of several files. */
  readonly extended: boolean;
  readonly guard: MountGuard;
  readonly secrets: SecretValues;
};

/** Converts a document to a config, or returns its problems. */
export async function configOf(
  document: Document,
  context: Context,
): Promise<{ readonly problems: readonly Problem[]; readonly config?: Config }> {
  const { data, error } = envelopeSchema.safeParse(document.value, interpreted);
  const read = await Promise.all(
    forms.flatMap(form =>
      [...new Set(document.keysAt([form]))].map(name => readServer(document, form, name, context)),
    ),
  );
  const problems = [
    ...(error ? problemsOf(error.issues, [], configKeys) : []),
    ...findMissingServers(document),
    ...read.flatMap(each => each.problems),
  ];
  if (!data) return { problems };
  const { naming, listen, administration, tokens, management_tools: managementTools } = data;
  const { clients, problems: ofClients } = readClients(
    data.clients ?? {},
    context.env,
    context.secrets,
  );
  const own = expandStrings(data.token, ['token'], context.env, context.secrets);
  const uses = secretUsesOf(document.value);
  const { models, problems: ofModels } = readModels(data.models, context.env, context.secrets);
  const { documentation, problems: ofDocumentation } = readDocumentation(
    data.documentation,
    context.env,
    context.secrets,
  );
  const pinning = data.pinning && { pinning: data.pinning };
  const profiles = readProfiles(data.profiles ?? {});
  const { fanOut, problems: ofFanOut } = readFanOut(data.fan_out ?? {});
  const { policy, problems: ofPolicy } = readPolicy(data.policy ?? []);
  return {
    config: {
      servers: read.flatMap(({ server }) => (server ? [{ ...pinning, ...server }] : [])),
      naming: { separator: naming.separator, maxLength: naming.max_length },
      ...(listen && { listen }),
      ...(typeof own.value === 'string' && { token: own.value }),
      ...(administration && { administration }),
      ...(data.logLevel && { logLevel: data.logLevel }),
      ...(uses.length > 0 && { secretUses: uses }),
      ...(managementTools && { managementTools }),
      ...(tokens && { tokens }),
      ...(clients.length > 0 && { clients }),
      ...(policy.length > 0 && { policy }),
      ...(profiles.length > 0 && { profiles }),
      ...(fanOut.length > 0 && { fanOut }),
      ...(data.approvals && { approvals: readApprovals(data.approvals) }),
      ...(data.catalog && { catalog: readCatalog(data.catalog) }),
      ...(data.agents && { agents: readAgents(data.agents) }),
      ...(data.tasks && { tasks: readTasks(data.tasks) }),
      ...(data.repositories && { repositories: readRepositories(data.repositories, context.home) }),
      ...(data.models && { models }),
      ...(data.documentation && { documentation }),
      ...(data.audit && { audit: readAudit(data.audit) }),
      ...(data.activity && { activity: readActivity(data.activity) }),
      ...(data.limits?.per_session && { perSession: readLimits(data.limits.per_session) }),
    },
    problems: [
      ...problems,
      ...own.problems,
      ...own.secretFaults,
      ...ofClients,
      ...unknownProfiles(
        clients,
        profiles.map(({ name }) => name),
      ),
      ...ofModels,
      ...ofDocumentation,
      ...ofPolicy,
      ...ofFanOut,
    ],
  };
}

/**
 * Finds clients with unknown profiles. They are errors, because a client with a misspelt profile would see everything.
 */
const unknownProfiles = (clients: readonly ClientConfig[], profiles: readonly string[]) =>
  clients.flatMap(({ name, profile }): readonly Problem[] => {
    if (profile === undefined || profiles.includes(profile)) return [];
    const closest = findClosest(profile, profiles);
    const hint =
      closest === undefined ? 'add it to "profiles"' : `write ${JSON.stringify(closest)}`;
    const text = `is not a profile of the config: ${hint}`;
    return [{ path: ['clients', name, 'profile'], text, showsValue: true }];
  });

function secretUsesOf(value: unknown): readonly SecretUse[] {
  if (!isObject(value)) return [];
  const ofServers = forms.flatMap(form =>
    Object.entries(isObject(value[form]) ? value[form] : {}).flatMap(([server, entry]) =>
      expandedKeys.flatMap(key => {
        const found = isObject(entry) ? entry[key] : undefined;
        return secretUsesIn(found, pathText([form, server, key])).map(use => ({ ...use, server }));
      }),
    ),
  );
  return [...ownParts.flatMap(key => secretUsesIn(value[key], key)), ...ofServers];
}

function findMissingServers({ value }: Document): readonly Problem[] {
  if (!isObject(value) || forms.some(form => value[form] !== undefined)) return [];
  const text = 'holds neither "servers" nor "mcpServers": add one, such as "servers": {}';
  return [{ path: [], text }];
}

async function readServer(
  document: Document,
  form: (typeof forms)[number],
  name: string,
  { env, home, extended, guard, secrets }: Context,
): Promise<{ readonly problems: readonly Problem[]; readonly server?: ServerConfig | undefined }> {
  const path = [form, name];
  const group = isObject(document.value) ? document.value[form] : undefined;
  const written = isObject(group) ? group[name] : undefined;
  if (extended && written === null) return { problems: [{ path, text: nothingToRemove }] };
  const issues = serverName.safeParse(name, interpreted).error?.issues ?? [];
  // The message leaves out the value, as the path already contains the name.
  const problems = problemsOf(issues, path, configKeys).map(({ text }): Problem => ({
    path,
    text,
  }));
  // Variables and secrets of a disabled server may be missing until it is enabled. Its secrets stay unexpanded even if
  // another server needs them: the config of one server does not depend on other servers.
  const isUsed = !isObject(written) || isEnabled(written);
  const expanded = expandServer(written, path, env, isUsed ? secrets : new Map());
  const { value, unresolved, problems: missing, secretFaults } = expanded;
  if (isUsed) problems.push(...missing);
  const { data: entry, error } = serverSchema.safeParse(value, interpreted);
  if (!entry) return { problems: [...problems, ...problemsOf(error.issues, path, configKeys)] };
  const server = await normalizeServer({
    name,
    form,
    home,
    guard,
    folderOf: key => dirname(resolve(document.fileOf([...path, key]))),
    entry,
    written: new Set(isObject(value) ? Object.keys(value) : []),
    report(inside, text, showsValue = false): undefined {
      const at = [...path, ...inside];
      // Skip a value with an unexpanded variable, because its final value is unknown.
      if (!unresolved.has(pathText(at))) problems.push({ path: at, text, showsValue });
    },
  });
  const secretEnv = secretEnvOf(written);
  return {
    server: server && {
      ...server,
      origin: withFiles(originOf(written), server),
      ...(secretEnv.length > 0 && { secretEnv }),
      ...(secretsOfEntry(written).length > 0 && { entryDigest: entryDigestOf(written, env) }),
      ...(secretFaults.length > 0 && server.enabled && { secretFaults: textsOf(secretFaults) }),
    },
    problems,
  };
}

const textsOf = (problems: readonly Problem[]) => [...new Set(problems.map(({ text }) => text))];

/** Returns the names of an entry's environment variables whose values refer to a secret. */
function secretEnvOf(written: unknown): readonly string[] {
  const env = isObject(written) && isObject(written['env']) ? written['env'] : {};
  return Object.keys(env).filter(name => secretsIn(env[name]).length > 0);
}

const nothingToRemove =
  'null removes a server of a file in "extends", and none of these files has this server: remove it, or write an object: {...}';
