# bash completion for onnx-tag
_onnx_tag() {
  local words=() glue='' i line file typed
  COMPREPLY=()
  for ((i = 1; i <= COMP_CWORD; i++)); do
    if [[ ${COMP_WORDS[i]} == '=' && ${#words[@]} -gt 0 ]]; then
      words[-1]+='=' glue=1
    elif [[ -n $glue ]]; then
      words[-1]+=${COMP_WORDS[i]} glue=''
    else
      words+=("${COMP_WORDS[i]}")
    fi
  done
  typed=${words[-1]#*=}
  while IFS=$'\t' read -r line _; do
    case $line in
      :folders) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -d -- "$typed") ;;
      :files) compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- "$typed") ;;
      :models)
        compopt -o filenames
        while IFS= read -r file; do
          [[ -d $file || $file == *.onnx || $file == *.json ]] && COMPREPLY+=("$file")
        done < <(compgen -f -- "$typed")
        ;;
      *) [[ ${words[-1]} == *=* ]] && line=${line#*=}; COMPREPLY+=("$line") ;;
    esac
  done < <("$1" __complete ${#words[@]} "${words[@]}" 2>/dev/null)
  [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace
}
complete -F _onnx_tag onnx-tag
