#compdef agenthub
# zsh completion of agenthub
_agenthub() {
  local line
  local -a candidates
  for line in "${(@f)$("${words[1]}" __complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    if [[ $line == ':files' ]]; then
      _files
      return
    fi
    [[ -n $line ]] && candidates+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}")
  done
  _describe agenthub candidates
}
if [[ $funcstack[1] == _agenthub ]]; then
  _agenthub "$@"
else
  compdef _agenthub agenthub
fi
