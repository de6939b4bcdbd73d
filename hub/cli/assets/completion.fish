# fish completion of agenthub
function __agenthub_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l lines ($words[1] __complete -- $words[2..-1] "$current" 2>/dev/null)
    if test "$lines[1]" = ':files'
        __fish_complete_path "$current"
    else
        printf '%s\n' $lines
    end
end
complete -c agenthub -f -a '(__agenthub_complete)'
