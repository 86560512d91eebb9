#compdef onnx-tag
local line word
local -a typed all shown fields
typed=("${(@Q)words[2,CURRENT]}")
for line in "${(@f)$($words[1] __complete $((CURRENT - 1)) "${typed[@]}" 2>/dev/null)}"; do
  word=${line%%$'\t'*}
  case $line in
    '') ;;
    :folders) compset -P '--*='; _files -/ ;;
    :files) compset -P '--*='; _files ;;
    :models) _files -g '*.(onnx|json)(-.)' ;;
    *=$'\t'*) fields+=("$word") ;;
    *) all+=("$word"); shown+=("${line/$'\t'/  -- }") ;;
  esac
done
(($#fields)) && compadd -S '' -- "${fields[@]}"
(($#all)) && compadd -l -d shown -- "${all[@]}"
