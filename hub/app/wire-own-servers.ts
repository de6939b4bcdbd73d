import { join } from 'node:path';
import { addBuiltins, createFanOutServer } from '#builtin';
import type { Config, Settings } from '#config';
import type { Service } from '#core';
import { createJobs } from '#jobs';
import { createRepositories } from '#repositories';
import type { Router } from '#routing';
import type { Servers } from '#servers';
import { type Backlog, type DataDir, createJournal } from '#store';
import type { Redaction } from '#telemetry';
import type { System } from './system.ts';
import { wireAgents } from './wire-agents.ts';
import type { wireAudit } from './wire-audit.ts';
import type { createConfiguration } from './wire-config.ts';
import { isDocumenting, wireDocumentation } from './wire-documentation.ts';
import type { ModelAccess } from './wire-models.ts';
import type { createPrompts } from './wire-prompts.ts';
import type { wireServers } from './wire-servers.ts';
import { wireTasks } from './wire-tasks.ts';

type Options = {
  readonly settings: Settings;
  readonly version: string;
  readonly imagesDir: string;
  readonly dataDir: DataDir;
};

type Needs = {
  readonly system: System;
  readonly redaction: Redaction;
  readonly servers: Servers;
  readonly wired: Pick<
    Awaited<ReturnType<typeof wireServers>>,
    'forAgents' | 'forRepositories' | 'place'
  >;
  readonly backlog: Backlog;
  readonly router: Pick<Router, 'openSessionless'>;
  readonly source: ReturnType<typeof createConfiguration>['source'];
  readonly models: ModelAccess;
  readonly prompts: Pick<Awaited<ReturnType<typeof createPrompts>>, 'source'>;
  readonly audit: Pick<ReturnType<typeof wireAudit>['audit'], 'recordChange'>;
};

const jobsFile = 'jobs.jsonl';
const maxJobsBytes = 4 * 2 ** 20;

/**
 * Creates agents, documentation, tasks and jobs, and adds the hub's own MCP servers for them to the servers of the
 * config.
 */
export function wireOwnServers(
  { settings, version, imagesDir, dataDir }: Options,
  { system, redaction, servers, wired, backlog, router, source, models, prompts, audit }: Needs,
) {
  const { place } = wired;
  const runsIn = place.auto;
  const config = () => source.current;
  const redact = (text: string) => redaction.text(text);
  const common = { ...system, redact, backlog };
  const agents = wireAgents(
    { settings, version, dataDir: dataDir.path, runsIn, config },
    { ...common, forAgents: wired.forAgents, router, servers, models },
  );
  const repositories = createRepositories(
    {
      runsIn,
      imagesDir,
      inContainer: settings.inContainer,
      folders: () => config().repositories,
    },
    { ...system, redact, ...wired.forRepositories },
  );
  const jobs = createJobs({
    ...system,
    redaction,
    openJournal: snapshot =>
      createJournal(
        { file: join(dataDir.path, jobsFile), maxBytes: maxJobsBytes, snapshot },
        { log: system.log, backlog },
      ),
  });
  const documentation = wireDocumentation(dataDir.path, {
    ...common,
    jobs,
    repositories,
    models,
    config,
  });
  const tasks = wireTasks(
    { dataDir, config },
    { system, redact, backlog, repositories, jobs, servers, router },
  );
  const { changed } = source;
  const fanOut = createFanOutServer({
    ...system,
    configs: () => config().fanOut ?? [],
    hidesTools() {
      const { policy = [], profiles = [] } = config();
      return profiles.length > 0 || policy.some(({ action }) => action === 'deny');
    },
    changed,
  });
  const { all, shown } = addBuiltins(servers, {
    clock: system.clock,
    hubVersion: version,
    prompts: prompts.source,
    management: {
      isOn: () => config().managementTools === true,
      changed,
      record: audit.recordChange,
    },
    agents: {
      agents,
      isOn: () => agents.refusal === undefined && models.defaultModel !== undefined,
      changed,
    },
    documentation: { documentation, jobs, isOn: () => isDocumenting(config()), changed },
    tasks: { tasks, jobs, isOn: () => hasTasks(config()), changed },
    fanOut,
  });
  const services: readonly Service[] = [
    repositories.service,
    documentation.service,
    agents.service,
    tasks.service,
  ];
  return {
    agents,
    documentation,
    tasks,
    jobs,
    fanOut,
    /** Servers that clients can call, including the hub's own. */
    all,
    /** Servers that are shown to people. */
    shown,
    /** Services that start after the servers. */
    services,
  };
}

const hasTasks = ({ tasks, repositories = [] }: Pick<Config, 'tasks' | 'repositories'>): boolean =>
  tasks !== undefined || repositories.length > 0;
