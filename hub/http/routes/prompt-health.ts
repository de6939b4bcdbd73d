import type { JsonObject } from '#core';
import type { PartHealth } from '#dashboard';
import type { FetchingStatus, ModelsStatus } from '#models';
import type { PromptHealth } from '../http-needs.ts';

/** The parts of the enhancer. The hub is usable without any of them: prompts are then returned unchanged. */
export async function promptParts({ rules, loaded }: PromptHealth): Promise<{
  readonly parts: Readonly<Record<string, PartHealth>>;
  readonly isWell: boolean;
}> {
  const { from, loadedAt, error } = rules();
  const rulesPart = {
    state: error ? 'degraded' : 'up',
    backend: from === 'file' ? 'file' : 'built in',
    loaded_at: new Date(loadedAt).toISOString(),
    ...(error && { detail: `the last good ones are in force: ${error.message}` }),
  };
  const prompts = await loaded();
  if (!prompts) return { parts: { rules: rulesPart, ollama: off }, isWell: !error };
  const { status } = prompts.models;
  const { exact, semantic } = await prompts.enhancer.stats();
  const parts = {
    rules: rulesPart,
    ollama: { ...ollamaPart(status), ...modelsPart(prompts.fetching?.status) },
    l1: {
      state: exact.status.kind,
      backend: exact.backend,
      ...('error' in exact.status && { detail: exact.status.error }),
    },
    ...(semantic && {
      l2: {
        state: semantic.vectors.status,
        backend: semantic.vectors.backend,
        ...(semantic.vectors.error !== undefined && { detail: semantic.vectors.error }),
      },
    }),
  };
  const isWell = Object.values(parts).every(
    ({ state }) => state !== 'down' && state !== 'degraded',
  );
  return { parts, isWell };
}

function ollamaPart(status: ModelsStatus): PartHealth {
  switch (status.kind) {
    case 'off':
      return off;
    case 'unknown':
      return { state: 'unknown', backend: 'ollama' };
    case 'up':
      return {
        state: 'up',
        backend: 'ollama',
        latency_ms: status.latencyMs,
        detail: `Ollama ${status.version}`,
      };
    case 'refused':
      return { state: 'degraded', backend: 'ollama', detail: status.error };
    case 'down':
      return { state: 'down', backend: 'ollama', detail: status.error };
  }
}

/** The missing models. Meanwhile other models improve prompts, or they are returned unchanged. */
function modelsPart(fetching: FetchingStatus | undefined): JsonObject {
  if (!fetching || fetching.missing.length === 0) return {};
  const { missing, now, error } = fetching;
  return {
    missing_models: missing,
    ...(now && {
      fetching: {
        model: now.model,
        status: now.status,
        ...(now.completedBytes !== undefined && { completed_bytes: now.completedBytes }),
        ...(now.totalBytes !== undefined && { total_bytes: now.totalBytes }),
      },
    }),
    ...(error !== undefined && { fetching_error: error }),
  };
}

const off = {
  state: 'off',
  backend: 'none',
  detail: 'prompts are given back unchanged: set OLLAMA_HOST',
} as const;
