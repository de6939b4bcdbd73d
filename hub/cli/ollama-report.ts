import { tryParseJson } from '#core';
import type { HubClient } from './hub-client.ts';
import type { OllamaReport } from './needs.ts';
import { fieldsOf, objectsIn, readWhole } from './responses.ts';

/** Ollama and the missing models as a running hub knows them. Rejects like `send`. */
export async function ollamaOfHub({ send }: Pick<HubClient, 'send'>): Promise<OllamaReport> {
  // The answer of a hub that is not usable has the status 503.
  const answer = await readWhole(await send({ method: 'GET', path: '/health' }));
  const {
    state,
    detail,
    missing_models: missing,
  } = fieldsOf(fieldsOf(fieldsOf(tryParseJson(answer))['parts'])['ollama']);
  return {
    state: typeof state === 'string' ? state : 'unknown',
    detail: typeof detail === 'string' ? detail : '',
    missing: objectsIn(missing).map(({ model, use, message, is_pulled: isPulled }) => ({
      model: String(model),
      use: String(use),
      message: String(message),
      isPulled: isPulled === true,
    })),
  };
}

/** What the user must do, and what is only worth a note. */
export function findingsOf({ state, detail, missing }: OllamaReport) {
  const isProblem = ({ use, isPulled }: OllamaReport['missing'][number]) =>
    use !== 'fallback' && !isPulled;
  const isUnwell = state === 'down' || (state === 'degraded' && missing.length === 0);
  const problems = [
    ...(isUnwell ? [detail] : []),
    ...missing.filter(isProblem).map(({ message }) => message),
  ];
  const notes = missing.filter(one => !isProblem(one)).map(({ message }) => message);
  const summary = isUnwell || missing.length > 0 ? 'see below' : detail || state;
  return { summary, problems, notes };
}
