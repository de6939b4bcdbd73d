/**
 * Returns the full name of a model as Ollama lists it: `x` becomes `x:latest`. The scheme of a URL and Ollama's own
 * registry are omitted.
 */
export function fullName(name: string): string {
  const short = name
    .replace(/^https?:\/\//i, '')
    .replace(/^(?:registry\.ollama\.ai\/)?library\/|^registry\.ollama\.ai\//i, '');
  // A colon before the last slash belongs to a registry's port.
  const last = short.slice(short.lastIndexOf('/') + 1);
  return last.includes(':') ? short : `${short}:latest`;
}

/** True if two names mean the same model. Ollama ignores case. */
export const isSameModel = (a: string, b: string): boolean =>
  fullName(a).toLowerCase() === fullName(b).toLowerCase();
