// Each script passes the words before the cursor to `agenthub __complete`. That prints one candidate per line,
// followed by a tab and its description, or ":files" if file names may follow.

const bash = `# bash completion of agenthub
_agenthub() {
  local line current="\${COMP_WORDS[COMP_CWORD]}"
  COMPREPLY=()
  while IFS= read -r line; do
    if [[ $line == ':files' ]]; then
      compopt -o filenames 2>/dev/null
      while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$current")
      return
    fi
    COMPREPLY+=("\${line%%$'\\t'*}")
  done < <("\${COMP_WORDS[0]}" __complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -F _agenthub agenthub
`;

const zsh = `#compdef agenthub
# zsh completion of agenthub
_agenthub() {
  local line
  local -a candidates
  for line in "\${(@f)$("\${words[1]}" __complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    if [[ $line == ':files' ]]; then
      _files
      return
    fi
    [[ -n $line ]] && candidates+=("\${\${line%%$'\\t'*}//:/\\\\:}:\${line#*$'\\t'}")
  done
  _describe agenthub candidates
}
if [[ $funcstack[1] == _agenthub ]]; then
  _agenthub "$@"
else
  compdef _agenthub agenthub
fi
`;

const fish = `# fish completion of agenthub
function __agenthub_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l lines ($words[1] __complete -- $words[2..-1] "$current" 2>/dev/null)
    if test "$lines[1]" = ':files'
        __fish_complete_path "$current"
    else
        printf '%s\\n' $lines
    end
end
complete -c agenthub -f -a '(__agenthub_complete)'
`;

/** Completion scripts by shell name. */
export const completionScripts: ReadonlyMap<string, string> = new Map([
  ['bash', bash],
  ['zsh', zsh],
  ['fish', fish],
]);
