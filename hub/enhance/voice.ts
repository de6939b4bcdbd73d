import type { Clause, Term } from './clause-types.ts';

const active = (verb: Term): Term => ({ ...verb, form: 'plain' });

/**
 * Converts a passive clause to the active: "memory is freed by the collector" becomes "the collector frees memory", and
 * "jobs dropped by it" becomes "jobs that it drops".
 */
export function activeOf(clause: Clause): readonly Clause[] {
  const at = clause.chunks.findIndex(({ head, terms }) => head === 'by' && terms.length > 0);
  const [chunk, agent] = [clause.chunks[at - 1], clause.chunks[at]];
  const verb = chunk?.terms.at(-1);
  if (!chunk || !agent || (verb?.form !== 'passive' && verb?.form !== 'ed')) return [clause];
  const object = chunk.terms.slice(0, -1);
  const [before, after] = [clause.chunks.slice(0, at - 1), clause.chunks.slice(at + 1)];
  const action = [...agent.terms, active(verb)];
  if (verb.form === 'passive' || object.length === 0)
    return [
      { ...clause, chunks: [...before, { ...chunk, terms: [...action, ...object] }, ...after] },
    ];
  return [
    { ...clause, chunks: [...before, { ...chunk, terms: object }] },
    { head: 'rel', chunks: [{ head: '', terms: action }, ...after] },
  ];
}

/** Converts the clause after "by whom" to one after "who": "was X called" becomes "called X". */
export function whoOf(clause: Clause): Clause {
  const [first, ...others] = clause.chunks;
  const at = first?.terms.findIndex(({ form }) => form === 'passive') ?? -1;
  const verb = first?.terms[at];
  if (!first || !verb) return clause;
  const terms = [active(verb), ...first.terms.toSpliced(at, 1)];
  return { ...clause, chunks: [{ ...first, terms }, ...others] };
}
