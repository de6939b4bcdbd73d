import { DeadlineExceeded, HubError, tryParseJson, within } from '#core';
import type { Run } from './command.ts';
import { type HubClient, createHubClient } from './hub-client.ts';
import type { OllamaReport } from './needs.ts';
import { type Described, fieldsOf, objectsIn, readWhole } from './responses.ts';

/** The parts of a running hub in `/health`. Rejects like `send`. */
export async function partsOfHub({ send }: Pick<HubClient, 'send'>): Promise<Described> {
  // The answer of a hub that is not usable has the status 503.
  const answer = await readWhole(await send({ method: 'GET', path: '/health' }));
  return fieldsOf(fieldsOf(tryParseJson(answer))['parts']);
}

/** Ollama and the missing models as a running hub knows them. */
export function ollamaIn(parts: Described): OllamaReport {
  const { state, detail, missing_models: missing } = fieldsOf(parts['ollama']);
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

/** Timeout in ms. A running hub answers faster. */
const maxWaitMs = 3_000;

/** The report of Ollama with the pulls of a running hub, of which Ollama itself tells nothing. */
export async function withPullsOfHub(
  report: OllamaReport,
  { needs, signal, clock }: Pick<Run, 'needs' | 'signal' | 'clock'>,
): Promise<OllamaReport> {
  if (report.missing.every(({ isPulled }) => isPulled)) return report;
  try {
    const place = await needs.findHub(undefined);
    const parts = await within(maxWaitMs, { clock, signal }, inTime =>
      partsOfHub(createHubClient(place, { signal: inTime, clock })),
    );
    const { missing } = ollamaIn(parts);
    const pulled = missing.filter(({ isPulled }) => isPulled);
    const known = (model: string) => pulled.find(one => one.model === model);
    return { ...report, missing: report.missing.map(one => known(one.model) ?? one) };
  } catch (error) {
    // Without a hub that answers, nothing is known to be pulled.
    if (error instanceof HubError || error instanceof DeadlineExceeded) return report;
    throw error;
  }
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
