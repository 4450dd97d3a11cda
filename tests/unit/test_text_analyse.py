"""The analyser: what a text is indexed under, and what a question looks for."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memscope.text.analyse import LONGEST_TERM, MOST_QUERY_TERMS, query_terms, terms
from memscope.text.stem import stem


def finds(question: str, text: str) -> bool:
    """Whether a memory of this text holds every term of the question."""
    asked = query_terms(question)
    return bool(asked) and set(asked) <= set(terms(text))


@pytest.mark.parametrize(
    "family",
    [
        "hike hikes hiked hiking",
        "plan plans planned planning",
        "plane planes",
        "care cares cared caring",
        "write writes wrote written writing",
        "decide decides decided deciding",
        "use uses used using",
        "leave leaves left leaving",
        "control controls controlled controlling",
        "embed embeds embedded embedding",
        "study studies studied studying",
        "query queries queried querying",
        "size sizes sized sizing",
        "box boxes",
        "class classes",
        "bus buses",
        "child children",
        "go goes went gone going",
        "add adds added adding",
        "release releases released releasing",
        "house houses housing",
        "happy happily",
    ],
)
def test_forms_of_a_word_share_a_stem(family: str) -> None:
    assert len({stem(word) for word in family.split()}) == 1


def test_unlike_words_keep_apart() -> None:
    words = "plan plane car care sit site not note string sing ring king analysis status access"
    assert len({stem(word) for word in words.split()}) == len(words.split())


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("MULLER", "Frau Müller"),
        ("Muller", "Frau Mu\u0308ller"),
        ("strasse", "in der Straße"),
        ("łódź", "Lodz"),
        ("istanbul", "İSTANBUL"),
        ("full width", "ｆｕｌｌ ｗｉｄｔｈ"),
        ("élan", "ELAN"),
        ("ёлка", "ЕЛКА"),
        ("مدرسة", "مَدْرَسَة"),
        ("میخواهم", "می\u200cخواهم"),
        ("हिन्दी", "वह हिन्दी बोलता है"),
        ("42", "४२"),
    ],
)
def test_case_accents_width_and_digits_are_folded(question: str, text: str) -> None:
    assert finds(question, text)


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("汇率换算", "外币汇率换算规则：按月初中间价"),
        ("换算规则", "外币汇率换算规则：按月初中间价"),
        ("猫", "黒猫が好きです"),
        ("為替レート", "外貨の為替レートの換算規則"),
        ("ﾚｰﾄ", "為替レート"),
        ("환율 변환", "외화 환율 변환 규칙"),
        ("회의", "회의는 목요일입니다"),
        ("อัตราแลกเปลี่ยน", "กฎการแปลงอัตราแลกเปลี่ยนเงินตรา"),
        ("ປ່ຽນເງິນ", "ອັດຕາແລກປ່ຽນເງິນຕາ"),
        ("អត្រាប្តូរ", "ច្បាប់អត្រាប្តូរប្រាក់"),
        ("ငွေလဲနှုန်း", "နိုင်ငံခြားငွေလဲနှုန်းစည်းမျဉ်း"),
        ("docker汇率", "用docker部署汇率服务"),
        ("docker 汇率", "docker汇率换算"),
        ("汇率", "docker汇率换算"),
        ("docker", "汇率docker换算"),
    ],
)
def test_scripts_without_spaces_are_found_by_any_part(question: str, text: str) -> None:
    assert finds(question, text)


def test_other_words_of_a_script_without_spaces_do_not_match() -> None:
    assert not set(query_terms("天气预报")) & set(terms("外币汇率换算规则"))


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("max_open_files", "set max_open_files to 4096"),
        ("open files", "set max_open_files to 4096"),
        ("maxOpenFiles", "set max_open_files to 4096"),
        ("pocketbase", "PocketBase runs on port 8090"),
        ("pocket base", "PocketBase runs on port 8090"),
        ("http server", "class HTTPServer"),
        ("nginx.conf", "edit /etc/nginx/nginx.conf first"),
        ("/etc/nginx/nginx.conf", "edit /etc/nginx/nginx.conf first"),
        ("nginx", "edit /etc/nginx/nginx.conf first"),
        ("ada@example.com", "write to ada@example.com"),
        ("email", "the e-mail address"),
        ("example.com", "write to ada@example.com"),
        ("pdfs", "two PDFs"),
        ("18.6", "PostgreSQL 18.6.3"),
        ("v18.6.3", "PostgreSQL 18.6.3"),
        ("postgresql 18", "PostgreSQL v18.6.3"),
        ("ABC-123", "ticket abc-123"),
        ("#123", "see issue 123"),
        ("8080", "port 8,080"),
        ("8 pm", "at 8pm"),
        ("8pm", "at 8pm"),
        ("c++", "written in C++ and C#"),
        ("c#", "written in C++ and C#"),
        ("IT department", "ask IT, second department"),
        ("children's", "the children play"),
    ],
)
def test_identifiers_paths_versions_and_numbers(question: str, text: str) -> None:
    assert finds(question, text)


@pytest.mark.parametrize("question", ["8 May 2023", "May 8th, 2023", "2023-05-08", "08 May 2023", "May 2023"])
def test_a_date_is_found_however_it_is_written(question: str) -> None:
    assert set(query_terms(question)) - {"2023-05-08"} <= set(terms("on 2023-05-08 we met"))
    assert set(query_terms(question)) - {"2023-05-08"} <= set(terms("Ada (8 May 2023): we met"))


def test_stop_words_are_no_terms() -> None:
    assert terms("Who was it that went to the market with her?") == ["go", "market"]
    assert terms("Was ist das für ein Markt?") == query_terms("Markt")
    assert query_terms("who is it") == []


def test_terms_keep_order_and_repeats_and_questions_do_not() -> None:
    assert terms("red green red") == ["red", "green", "red"]
    assert query_terms("red green red") == ["red", "green"]


def test_long_questions_keep_the_most_repeated_terms_and_long_terms_are_cut() -> None:
    words = [f"word{number}x" for number in range(500)]
    asked = query_terms(" ".join([*words, "needle", "needle"]))
    assert len(asked) == MOST_QUERY_TERMS
    assert asked[-1] == "needl"
    assert max(map(len, terms("x" * 8000 + " " + "a_" * 4000))) <= LONGEST_TERM


def test_emoji_can_be_looked_for() -> None:
    assert finds("🎉", "we shipped it 🎉")


@given(st.text(max_size=200))
def test_any_text_is_found_by_itself_in_any_form(text: str) -> None:
    text = "".join(character for character in text if not "\ud800" <= character <= "\udfff")
    indexed = terms(text)
    assert all(indexed)
    assert not any(character.isspace() or character == "\0" for term in indexed for character in term)
    assert set(query_terms(text)) <= set(indexed)
    assert terms(unicodedata.normalize("NFD", text)) == terms(unicodedata.normalize("NFC", text))
