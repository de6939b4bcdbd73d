import { DeadlineExceeded, HubError, tryParseJson, within } from '#core';
import type { Run } from './command.ts';
import { type HubClient, createHubClient } from './hub-client.ts';
import type { OllamaReport } from './needs.ts';
import { type Described, fieldsOf, objectsIn, readWhole } from './responses.ts';

/** Returns `parts` of `/health` of a running hub. Rejects with HUB_CONNECT_FAILED if no hub answers. */
export async function partsOfHub({ send }: Pick<HubClient, 'send'>): Promise<Described> {
  // Read the body for any status, as a hub that is not usable answers with 503.
  const answer = await readWhole(await send({ method: 'GET', path: '/health' }));
  return fieldsOf(fieldsOf(tryParseJson(answer))['parts']);
}

/** Returns the state of Ollama and the missing models, as a running hub reports them. */
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

/** Timeout for requests to a hub in ms. A running hub answers faster. */
const maxWaitMs = 3_000;

/** Adds to a report which models a running hub is pulling, as Ollama itself does not report pulls. */
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
    // Without an answer of a hub, report no model as being pulled.
    if (error instanceof HubError || error instanceof DeadlineExceeded) return report;
    throw error;
  }
}

/** Separates problems that the user must fix from mere notes. */
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
