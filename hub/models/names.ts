/** The name under which Ollama lists a model: `x` means `x:latest`, and its own registry goes unsaid. */
export function fullName(name: string): string {
  const short = name.replace(/^(?:registry\.ollama\.ai\/)?library\/|^registry\.ollama\.ai\//i, '');
  // A port of a registry has a colon too.
  const last = short.slice(short.lastIndexOf('/') + 1);
  return last.includes(':') ? short : `${short}:latest`;
}

/** Ollama does not tell upper case from lower case in names. */
export const isSameModel = (a: string, b: string): boolean =>
  fullName(a).toLowerCase() === fullName(b).toLowerCase();
