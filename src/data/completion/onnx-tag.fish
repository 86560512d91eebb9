# fish completion for onnx-tag
function __onnx_tag_complete
    set -l words (commandline -opc)
    set -l typed (commandline -ct)
    set -l before (string match -r '^--[^=]*=' -- "$typed")
    set -l value (string replace -r '^--[^=]*=' '' -- "$typed")
    for line in ($words[1] __complete (count $words) $words[2..] "$typed" 2>/dev/null)
        switch $line
            case :folders
                printf '%s\n' "$before"(__fish_complete_directories "$value")
            case :files
                printf '%s\n' "$before"(__fish_complete_path "$value")
            case :models
                __fish_complete_path "$value"
            case '*'
                printf '%s\n' $line
        end
    end
end
complete -c onnx-tag -f -a '(__onnx_tag_complete)'
